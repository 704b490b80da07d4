#include "sandbox/egress/request.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "runtime/json/object.hpp"
#include "runtime/net/address.hpp"

namespace ratchet::sandbox {

namespace {

using Refused = tl::unexpected<ProxyRefusal>;

constexpr std::size_t host_bytes_max = 253;  // RFC 1035 §2.3.4, without the dot at the end

Refused bad(std::string why) {
  return Refused({400, std::move(why)});
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return lower(c); });
  return out;
}

/// RFC 9110 §5.6.2.
bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

bool is_visible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && is_space(text.back()))
    text.remove_suffix(1);
  return text;
}

std::optional<std::uint16_t> parse_port(std::string_view digits) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port == 0 || digits.front() == '0')
    return std::nullopt;
  return port;
}

/// A name that could stand in the DNS; anything fancier is not looked at.
std::optional<std::string> normal_host(std::string_view host) {
  if (host.starts_with('[')) {
    if (!host.ends_with(']')) return std::nullopt;
    const auto ip = parse_ip(host);
    if (!ip || !ip->v6) return std::nullopt;
    return "[" + to_string(*ip) + "]";
  }
  std::string name = lower(host);
  if (name.ends_with('.')) name.pop_back();
  if (name.empty() || name.size() > host_bytes_max) return std::nullopt;
  const bool fit = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  });
  return fit ? std::optional(name) : std::nullopt;
}

/// `host:port`, or `host` where a port is known otherwise.
std::optional<std::string> normal_endpoint(std::string_view authority, std::string_view default_port) {
  const auto bracket = authority.find(']');
  const auto colon = authority.find(':', bracket == authority.npos ? 0 : bracket);
  const auto host = normal_host(authority.substr(0, colon));
  const auto digits = colon == authority.npos ? default_port : authority.substr(colon + 1);
  if (!host || digits.empty()) return std::nullopt;
  const auto port = parse_port(digits);
  return port ? std::optional(fmt::format("{}:{}", *host, *port)) : std::nullopt;
}

struct Line {
  std::string_view method, target, version;
};

struct Field {
  std::string name;  // in lower case
  std::string_view written, value;
};

struct Head {
  Line line;
  std::vector<Field> fields;

  /// Nothing where there is none; refused by the caller where there are two.
  std::vector<const Field*> all(std::string_view name) const {
    std::vector<const Field*> found;
    for (const Field& field : fields)
      if (field.name == name) found.push_back(&field);
    return found;
  }
};

tl::expected<Head, ProxyRefusal> split(std::string_view head) {
  Head out;
  if (!head.ends_with("\r\n\r\n")) return bad("the head of the request has no end");
  head.remove_suffix(2);
  bool first = true;
  while (!head.empty()) {
    const auto end = head.find("\r\n");
    if (end == head.npos) return bad("the head of the request has no end");
    const auto line = head.substr(0, end);
    head.remove_prefix(end + 2);
    if (line.find_first_of(std::string_view("\r\n\0", 3)) != line.npos)
      return bad("a line has a control character");
    if (std::exchange(first, false)) {
      const auto a = line.find(' '), b = line.rfind(' ');
      if (a == line.npos || a == b) return bad("expected a method, a target and a version");
      out.line = {line.substr(0, a), line.substr(a + 1, b - a - 1), line.substr(b + 1)};
      continue;
    }
    const auto colon = line.find(':');
    if (colon == line.npos || !is_token(line.substr(0, colon))) return bad("a header field has no name");
    out.fields.push_back(
        {lower(line.substr(0, colon)), line.substr(0, colon), trimmed(line.substr(colon + 1))});
  }
  const Line& line = out.line;
  if (!is_token(line.method) || !is_visible(line.target)) return bad("the request line is malformed");
  if (line.version != "HTTP/1.1" && line.version != "HTTP/1.0")
    return Refused({505, "only HTTP/1.1 is understood"});
  return out;
}

tl::expected<RequestBody, ProxyRefusal> body_of(const Head& head) {
  const auto lengths = head.all("content-length"), codings = head.all("transfer-encoding");
  if (lengths.size() + codings.size() > 1) return bad("the length of the body is told twice");
  if (!codings.empty()) {
    if (lower(codings.front()->value) != "chunked") return bad("the body can only be chunked");
    return RequestBody::chunked();
  }
  if (lengths.empty()) return RequestBody::none();
  const auto digits = lengths.front()->value;
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bytes);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size())
    return bad("the length of the body is no number");
  return RequestBody::of_length(bytes);
}

/// What is between the client and its proxy alone (RFC 9110 §7.6.1), or would keep the connection for a
/// second request.
bool is_for_the_proxy(const Head& head, std::string_view name) {
  constexpr std::string_view names[] = {"host",
                                        "connection",
                                        "keep-alive",
                                        "proxy-connection",
                                        "proxy-authorization",
                                        "proxy-authenticate",
                                        "te",
                                        "upgrade"};
  if (std::ranges::find(names, name) != std::end(names)) return true;
  for (const Field* connection : head.all("connection")) {
    const std::string words = lower(connection->value);
    for (std::size_t at = 0; at <= words.size();) {
      const auto end = std::min(words.find(',', at), words.size());
      const auto word = trimmed(std::string_view(words).substr(at, end - at));
      // What says where the body ends is never dropped.
      if (word == name && word != "content-length" && word != "transfer-encoding") return true;
      at = end + 1;
    }
  }
  return false;
}

tl::expected<ProxyRequest, ProxyRefusal> tunnel(const Head& head) {
  ProxyRequest request;
  const auto endpoint = normal_endpoint(head.line.target, {});
  if (!endpoint) return bad("CONNECT takes host:port");
  const auto hosts = head.all("host");
  if (hosts.size() > 1) return bad("there are two Host fields");
  // Some clients leave the port out there, and it decides nothing; another host would be a lie.
  if (!hosts.empty()) {
    const auto port = endpoint->substr(endpoint->rfind(':') + 1);
    if (normal_endpoint(hosts.front()->value, port) != endpoint)
      return bad("the Host field names another host");
  }
  request.endpoint = *endpoint;
  request.tunnel = true;
  request.body = RequestBody::endless();
  return request;
}

tl::expected<ProxyRequest, ProxyRefusal> plain(const Head& head) {
  constexpr std::string_view scheme = "http://";
  const auto target = head.line.target;
  if (lower(target.substr(0, scheme.size())) != scheme)
    return bad("this is a proxy: expected http://host/path, or CONNECT for anything else");
  const auto rest = target.substr(scheme.size());
  const auto authority = rest.substr(0, rest.find_first_of("/?#"));
  if (authority.find('@') != authority.npos) return bad("no user can stand before the host");
  if (target.find('#') != target.npos) return bad("no fragment can stand in a request");
  const auto endpoint = normal_endpoint(authority, "80");
  if (!endpoint) return bad("the host of the target is malformed");
  const auto hosts = head.all("host");
  if (hosts.size() > 1) return bad("there are two Host fields");
  if (!hosts.empty() && normal_endpoint(hosts.front()->value, "80") != endpoint)
    return bad("the Host field names another host");
  const auto body = body_of(head);
  if (!body) return Refused(body.error());

  ProxyRequest request;
  request.endpoint = *endpoint;
  request.body = *body;
  auto path = std::string(rest.substr(authority.size()));
  if (!path.starts_with('/')) path.insert(path.begin(), '/');
  const auto host = endpoint->ends_with(":80") ? endpoint->substr(0, endpoint->size() - 3) : *endpoint;
  request.head = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", head.line.method, path, host);
  for (const Field& field : head.fields)
    if (!is_for_the_proxy(head, field.name))
      request.head += fmt::format("{}: {}\r\n", field.written, field.value);
  request.head += "Connection: close\r\n\r\n";
  return request;
}

}  // namespace

tl::expected<ProxyRequest, ProxyRefusal> parse_proxy_request(std::string_view text) {
  const auto head = split(text);
  if (!head) return Refused(head.error());
  return head->line.method == "CONNECT" ? tunnel(*head) : plain(*head);
}

std::string proxy_answer(int status, std::string_view code, std::string_view text) {
  const std::string body = json_object([&](JsonObject& out) { out.text("code", code).text("text", text); });
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
      status,
      status == 403   ? "Forbidden"
      : status == 502 ? "Bad Gateway"
      : status == 431 ? "Too Large"
                      : "Refused",
      body.size(),
      body);
}

}  // namespace ratchet::sandbox
