#include "http/config/listen.hpp"

#include <arpa/inet.h>
#include <charconv>

#include <fmt/format.h>

namespace ratchet {

namespace {

bool is_ipv4(const std::string& host) {
  in_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1;
}

bool is_ipv6(const std::string& host) {
  in6_addr address{};
  return inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

bool is_loopback(const std::string& host) {
  in6_addr address{};
  // 127.0.0.0/8 (RFC 1122, 3.2.1.3) and ::1 (RFC 4291, 2.5.3).
  if (inet_pton(AF_INET6, host.c_str(), &address) == 1) return IN6_IS_ADDR_LOOPBACK(&address);
  return is_ipv4(host) && host.starts_with("127.");
}

}  // namespace

Result<ListenAddress> parse_listen(std::string_view text) {
  const auto wrong = [&] {
    return fail(
        ErrorCode::invalid_request,
        fmt::format("'{}' is not an address to listen on, such as 127.0.0.1:8080 or [::1]:8080", text));
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong();
  ListenAddress out;
  out.host = text.substr(0, colon);
  if (out.host == "localhost") out.host = "127.0.0.1";
  const bool bracketed = out.host.size() > 2 && out.host.front() == '[' && out.host.back() == ']';
  if (bracketed) out.host = out.host.substr(1, out.host.size() - 2);
  if (bracketed ? !is_ipv6(out.host) : !is_ipv4(out.host)) return wrong();
  const auto port = text.substr(colon + 1);
  const auto [rest, error] = std::from_chars(port.data(), port.data() + port.size(), out.port);
  if (port.empty() || error != std::errc{} || rest != port.data() + port.size()) return wrong();
  out.loopback = is_loopback(out.host);
  return out;
}

std::string to_string(const ListenAddress& address) {
  const bool ipv6 = address.host.find(':') != std::string::npos;
  return ipv6 ? fmt::format("[{}]:{}", address.host, address.port)
              : fmt::format("{}:{}", address.host, address.port);
}

Result<void> check_exposure(const ServerConfig& config, bool dev) {
  const auto address = parse_listen(config.listen);
  if (!address) return tl::unexpected(address.error());
  if (address->loopback) return {};
  if (dev)
    return fail(ErrorCode::invalid_request,
                fmt::format("--dev needs no key, so it listens on loopback only, not on {}", config.listen));
  if (config.keys.empty())
    return fail(
        ErrorCode::invalid_request,
        fmt::format("listening on {}, which is not loopback, needs API keys: `ratchet keys new` makes one",
                    config.listen));
  return {};
}

}  // namespace ratchet
