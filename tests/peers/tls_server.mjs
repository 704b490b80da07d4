// Answers every request with what it knows of its connection. Arguments: certificate, key (PEM files).
import {readFileSync} from 'node:fs';
import {createSecureServer} from 'node:http2';

const [certificate, key] = process.argv.slice(2);
let connections = 0;
const server = createSecureServer(
  {cert: readFileSync(certificate), key: readFileSync(key), allowHTTP1: true},
  (request, response) => {
    let bytes = 0;
    request.on('data', (data) => (bytes += data.length));
    request.on('end', () => response.end(`HTTP/${request.httpVersion} ${bytes} ${connections}`));
  });
server.on('secureConnection', () => ++connections);
server.listen(0, '127.0.0.1', () => console.log(`https://localhost:${server.address().port} `));
