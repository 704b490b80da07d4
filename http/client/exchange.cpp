#include "http/client/exchange.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

namespace ratchet {

namespace {

constexpr std::uint64_t drained_bytes_max = 64u
                                            << 10;  // after a settled reply; more: the connection is closed

Exchange& self(void* user) {
  return *static_cast<Exchange*>(user);
}

std::size_t stop(Exchange& exchange, HttpEnd::Kind kind, std::string text) {
  exchange.verdict = HttpEnd{kind, true, std::move(text)};
  return CURL_WRITEFUNC_ERROR;
}

/// A header line, without its end: `Name: value`, or the status line of a new reply (after a 100, say).
void take_header(HttpHead& head, std::string_view line) {
  if (line.starts_with("HTTP/")) {
    head = {};
    const auto space = line.find(' ');
    if (space != std::string_view::npos)
      std::from_chars(line.data() + space + 1, line.data() + line.size(), head.status);
    return;
  }
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return;
  std::string name(line.substr(0, colon));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  auto value = line.substr(colon + 1);
  value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
  value.remove_suffix(value.size() - (value.find_last_not_of(" \t") + 1));
  head.headers.emplace_back(std::move(name), value);
}

std::size_t on_header(char* data, std::size_t, std::size_t size, void* user) {
  Exchange& exchange = self(user);
  if (exchange.head_told) return size;  // trailers
  exchange.head_bytes += size;
  if (exchange.head_bytes > limits::reply_head_bytes_max)
    return stop(
        exchange,
        HttpEnd::Kind::too_large,
        fmt::format("the headers of the reply are longer than {} bytes", limits::reply_head_bytes_max));
  std::string_view line(data, size);
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r'))
    line.remove_suffix(1);
  if (!line.empty()) {
    take_header(exchange.head, line);
  } else if (exchange.head.status >= 200) {
    exchange.head_told = true;
    exchange.gate.pass([&] { exchange.sink->on_head(exchange.head); });
  }
  return size;
}

/// The reply is what its user wanted: tell the end now, and let the rest come in for a moment.
void settle(Exchange& exchange) {
  exchange.tell({HttpEnd::Kind::complete, true});
  exchange.total_deadline = Deadlines::Time::max();
  exchange.set_deadline(exchange.context.loop.now() +
                        std::chrono::milliseconds(exchange.context.options.drain_ms));
  exchange.reply_bytes = 0;
}

std::size_t on_body(char* data, std::size_t, std::size_t size, void* user) {
  Exchange& exchange = self(user);
  exchange.reply_bytes += size;
  if (exchange.sink == nullptr)  // settled
    return exchange.reply_bytes <= limits::drained_bytes_max ? size : CURL_WRITEFUNC_ERROR;
  if (exchange.reply_bytes > exchange.request.reply_bytes_max)
    return stop(exchange,
                HttpEnd::Kind::too_large,
                fmt::format("the reply is longer than {} bytes", exchange.request.reply_bytes_max));
  exchange.set_deadline(exchange.context.loop.now() +
                        std::chrono::milliseconds(exchange.context.options.idle_timeout_ms));
  if (!exchange.delivering) {
    exchange.delivering = true;
    exchange.context.delivered.push_back(&exchange);
  }
  auto next = HttpSink::Next::stop;  // where it was cancelled, too
  exchange.gate.pass([&] { next = exchange.sink->on_bytes({data, size}); });
  if (next == HttpSink::Next::stop)
    return stop(exchange, HttpEnd::Kind::stopped, "the rest of the reply was not wanted");
  if (next == HttpSink::Next::settled) settle(exchange);
  return size;
}

std::size_t on_read(char* out, std::size_t, std::size_t size, void* user) {
  return self(user).body.read(out, size);
}

int on_seek(void* user, curl_off_t offset, int origin) {
  if (origin != SEEK_SET || offset < 0) return CURL_SEEKFUNC_FAIL;
  return self(user).body.seek(static_cast<std::uint64_t>(offset)) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

std::string out_of_reach(const IpAddress& ip) {
  return fmt::format(
      "the name leads to {}, an address of the kind {}, which is reached only where it is listed itself",
      to_string(ip),
      name(kind_of(ip)));
}

/// Also on a connection that was made before, for a call with another rule, and is used again.
int on_connected(void* user, char* address, char*, int, int) {
  Exchange& exchange = self(user);
  const Reach reach = exchange.request.reach;
  const auto ip = parse_ip(address);
  if (reach != Reach::anywhere && !(ip && reaches(reach, *ip))) {
    exchange.dial_refusal = ip ? out_of_reach(*ip) : "the other side has no address";
    return CURL_PREREQFUNC_ABORT;
  }
  exchange.connected = true;
  exchange.set_deadline(exchange.first_byte_deadline);
  return CURL_PREREQFUNC_OK;
}

/// Why this address is not dialled, or nothing.
std::string dial_refusal(const Exchange& exchange, const sockaddr& address) {
  if (!exchange.context.dial_filter.allows(address))
    return "the address is the server's own, which is never called";
  const auto ip = ip_of(address);
  if (!ip) return "the other side has no address of IPv4 or IPv6";
  return reaches(exchange.request.reach, *ip) ? "" : out_of_reach(*ip);
}

curl_socket_t on_dial(void* user, curlsocktype, curl_sockaddr* address) {
  Exchange& exchange = self(user);
  if (auto why = dial_refusal(exchange, address->addr); !why.empty()) {
    exchange.dial_refusal = std::move(why);
    return CURL_SOCKET_BAD;
  }
  const int socket = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (socket < 0) {
    exchange.no_socket = errno;
    return CURL_SOCKET_BAD;
  }
  ++exchange.context.descriptors.call_sockets;
  return socket;
}

int on_close(void* user, curl_socket_t socket) {
  --static_cast<Descriptors*>(user)->call_sockets;
  return ::close(socket);
}

/// Header names and values go onto the wire as they are: what could end a line would be another header.
bool is_header_text(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return (c >= 0x20 && c != 0x7f) || c == '\t'; });
}

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) ||
           std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

std::unique_ptr<curl_slist, SlistDeleter> make_header_list(const HttpRequest& request) {
  curl_slist* list = curl_slist_append(nullptr, "Expect:");
  for (const auto& [name, value] : request.headers)  // libcurl spells an empty value with a semicolon
    list = curl_slist_append(list, value.empty() ? (name + ";").c_str() : (name + ": " + value).c_str());
  return std::unique_ptr<curl_slist, SlistDeleter>(list);
}

void set_method(CURL* easy, const HttpRequest& request) {
  const std::uint64_t bytes = body_bytes(request.body);
  if (request.method == "HEAD") {
    curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  } else if (bytes > 0 || request.method == "POST" || request.method == "PUT" || request.method == "PATCH") {
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(bytes));
  } else {
    curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
  }
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
}

bool is_tls(std::string_view url) {
  constexpr std::string_view scheme = "https:";
  return url.size() >= scheme.size() &&
         std::ranges::equal(url.substr(0, scheme.size()), scheme, [](unsigned char a, char b) {
           return std::tolower(a) == b;
         });
}

/// HTTP/2 where TLS can negotiate it, and then many calls share a connection; one call on a connection
/// otherwise. The price of a connection of its own, measured on the loopback: 25 to 50 us of CPU and 0.1 ms;
/// under TLS 1.7 ms of CPU and two round trips.
void set_connection(CURL* easy, const HttpRequest& request) {
  const bool shared = is_tls(request.url) && request.repeatable;
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, shared ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(easy, CURLOPT_PIPEWAIT, shared ? 1L : 0L);
  // libcurl repeats a request by itself only on a connection that was used before.
  curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, request.repeatable ? 0L : 1L);
  curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, request.repeatable ? 0L : 1L);
}

HttpEnd::Kind kind_of_failure(CURLcode code, bool connected) {
  if (connected) return HttpEnd::Kind::broken;
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_BAD_FUNCTION_ARGUMENT:
      return HttpEnd::Kind::refused;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      return HttpEnd::Kind::distrusted;
    default:
      return HttpEnd::Kind::unreachable;
  }
}

}  // namespace

std::string_view HttpHead::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

Easy make_easy(ExchangeContext& context) {
  const TransportOptions& options = context.options;
  Easy owner(curl_easy_init());
  RATCHET_ENSURE(owner != nullptr, "libcurl gives no handle");
  CURL* easy = owner.get();
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "ratchet");
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_PROXY, "");  // the environment's too
  curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(easy, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);  // a model may be silent for minutes
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 30L);
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 4'096L);
  curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, 16'384L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout_ms));
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);  // a name look-up that hangs is left behind, not waited for
  if (!options.ca_file.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, options.ca_file.c_str());
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
  curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_seek);
  curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_connected);
  curl_easy_setopt(easy,
                   CURLOPT_MAXAGE_CONN,
                   static_cast<long>(std::max<std::int64_t>(options.idle_connection_ms / 1'000, 1)));
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_dial);
  curl_easy_setopt(
      easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);  // a connection outlives the call it was made for
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, &context.descriptors);
  return owner;
}

bool Exchange::prepare(Easy handle) {
  const auto refuse = [this](std::string text) {
    verdict = HttpEnd{HttpEnd::Kind::refused, false, std::move(text)};
    return false;
  };
  if (!is_token(request.method)) return refuse("the method is not an HTTP method");
  for (const auto& [name, value] : request.headers) {
    if (!is_token(name)) return refuse("the name of a header is not one of HTTP");
    if (!is_header_text(value)) return refuse(fmt::format("the header '{}' has a control character", name));
  }
  easy = std::move(handle);
  header_list = make_header_list(request);
  curl_easy_setopt(easy.get(), CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy.get(), CURLOPT_HTTPHEADER, header_list.get());
  for (const auto option : {CURLOPT_HEADERDATA,
                            CURLOPT_WRITEDATA,
                            CURLOPT_READDATA,
                            CURLOPT_SEEKDATA,
                            CURLOPT_PREREQDATA,
                            CURLOPT_OPENSOCKETDATA,
                            CURLOPT_PRIVATE})
    curl_easy_setopt(easy.get(), option, this);
  curl_easy_setopt(easy.get(), CURLOPT_ERRORBUFFER, error_text);
  set_method(easy.get(), request);
  set_connection(easy.get(), request);
  const auto now = std::chrono::steady_clock::now();  // not the loop's, which is that of the last event
  const auto after = [now](std::int64_t ms) {
    return ms > 0 ? now + std::chrono::milliseconds(ms) : Deadlines::Time::max();
  };
  first_byte_deadline = after(request.first_byte_timeout_ms);
  total_deadline = after(request.total_timeout_ms);
  // Also of a call that waits for another's connection: libcurl lets those have a turn each, one after the
  // other.
  set_deadline(std::min(after(context.options.connect_timeout_ms), first_byte_deadline));
  return true;
}

HttpEnd Exchange::time_out() const {
  if (deadline.at == total_deadline)
    return {HttpEnd::Kind::timeout,
            may_have_left(),
            fmt::format("no whole reply within {} ms", request.total_timeout_ms)};
  if (deadline.at == first_byte_deadline)
    return {HttpEnd::Kind::timeout,
            may_have_left(),
            fmt::format("no byte of a reply within {} ms", request.first_byte_timeout_ms)};
  if (!connected)
    return {HttpEnd::Kind::unreachable,
            false,
            fmt::format("no connection within {} ms", context.options.connect_timeout_ms)};
  return {HttpEnd::Kind::timeout,
          may_have_left(),
          fmt::format("the reply paused for more than {} ms", context.options.idle_timeout_ms)};
}

void Exchange::set_deadline(Deadlines::Time at) {
  context.deadlines.set(ticket, deadline, std::min(at, total_deadline));
}

Easy Exchange::release() {
  if (easy == nullptr) return nullptr;
  curl_easy_setopt(easy.get(), CURLOPT_ERRORBUFFER, nullptr);
  curl_easy_setopt(easy.get(), CURLOPT_HTTPHEADER, nullptr);
  return std::move(easy);
}

bool Exchange::may_have_left() const {
  if (easy == nullptr || !connected) return false;
  // Under TLS a record may be on the wire before libcurl counts it.
  if (is_tls(request.url)) return true;
  long sent = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_REQUEST_SIZE, &sent);
  return sent > 0;
}

/// With the system's reason where a connection did not come about: no descriptor and no port look the same to
/// libcurl.
std::string Exchange::failure_text(CURLcode code) const {
  std::string text = error_text[0] != '\0' ? error_text : curl_easy_strerror(code);
  if (code != CURLE_COULDNT_CONNECT) return text;
  long connect_errno = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_OS_ERRNO, &connect_errno);
  const int reason = no_socket != 0 ? no_socket : static_cast<int>(connect_errno);
  return reason == 0 ? text : fmt::format("{}: {}", text, std::generic_category().message(reason));
}

HttpEnd Exchange::end(CURLcode code) {
  if (verdict) {
    verdict->may_have_left = may_have_left();
    return std::move(*verdict);
  }
  if (!dial_refusal.empty() && !connected) return {HttpEnd::Kind::refused, false, std::move(dial_refusal)};
  if (code == CURLE_OK && head_told) return {HttpEnd::Kind::complete, true};
  if (code == CURLE_OK)  // libcurl takes headers that end with the connection for a reply
    return {HttpEnd::Kind::broken, true, "the reply ended within its headers"};
  return {kind_of_failure(code, connected), may_have_left(), failure_text(code)};
}

void Exchange::tell(const HttpEnd& end) {
  gate.pass([&] { sink->on_end(end); });
  gate.shut();
  sink = nullptr;
}

}  // namespace ratchet
