#include "runtime/tools/url.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "runtime/limits.hpp"

namespace ratchet {

namespace {

constexpr std::string_view alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
constexpr std::string_view hex_digits = "0123456789abcdefABCDEF";

bool consists_of(std::string_view text, std::string_view extra) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return alphanumeric.find(c) != std::string_view::npos || extra.find(c) != std::string_view::npos;
  });
}

bool is_host(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']') && host.size() > 2)
    return host.find_first_not_of("0123456789abcdef:.", 1) == host.size() - 1;
  return !host.empty() && host.size() <= 253 && consists_of(host, "-._") && host.front() != '.' &&
         host.front() != '-' && host.find("..") == std::string_view::npos;
}

/// 0 if it is no port.
std::uint16_t port_of(std::string_view digits) {
  std::uint16_t port = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (digits.empty() || digits.front() == '0' || read.ec != std::errc{} ||
      read.ptr != digits.data() + digits.size())
    return 0;
  return port;
}

/// Splits `host:port` at the colon that is not part of an IPv6 address; npos: there is none.
std::size_t port_colon(std::string_view authority) {
  const auto bracket = authority.rfind(']');
  return authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
}

bool escapes_are_whole(std::string_view text) {
  for (std::size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1))
    if (at + 2 >= text.size() || hex_digits.find(text[at + 1]) == std::string_view::npos ||
        hex_digits.find(text[at + 2]) == std::string_view::npos)
      return false;
  return true;
}

}  // namespace

std::string Url::endpoint() const {
  return fmt::format("{}:{}", host, port);
}

Result<Url> parse_url(std::string_view text) {
  const auto refuse = [](std::string_view why) {
    return fail(ErrorCode::invalid_definition, "not a URL that is taken: " + std::string(why));
  };
  if (text.size() > limits::url_bytes_max) return refuse("it is too long");
  Url url;
  if (text.starts_with("http://"))
    url.scheme = "http";
  else if (text.starts_with("https://"))
    url.scheme = "https";
  else
    return refuse("it has to begin with http:// or https://");
  const auto authority_at = url.scheme.size() + 3;
  url.path_at = std::min(text.find_first_of("/?#", authority_at), text.size());
  const auto authority = text.substr(authority_at, url.path_at - authority_at);
  if (authority.find('@') != std::string_view::npos) return refuse("credentials do not stand in addresses");
  const auto colon = port_colon(authority);
  url.host = authority.substr(0, colon);
  std::transform(url.host.begin(), url.host.end(), url.host.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (!is_host(url.host)) return refuse("its host is neither a name nor an address");
  url.port = url.scheme == "http" ? 80 : 443;
  if (colon != std::string_view::npos) url.port = port_of(authority.substr(colon + 1));
  if (url.port == 0) return refuse("its port is not one from 1 to 65535");
  const auto rest = text.substr(url.path_at);
  if (rest.find('#') != std::string_view::npos) return refuse("it has a fragment");
  if (!consists_of(rest, "-._~!$&'()*+,;=:@/?%"))
    return refuse("it has a character that has to be percent-encoded");
  if (!escapes_are_whole(rest)) return refuse("it has a % that does not stand before two hex digits");
  url.query_at = std::min(text.find('?', url.path_at), text.size());
  return url;
}

bool is_endpoint(std::string_view text) {
  const auto colon = port_colon(text);
  if (colon == std::string_view::npos || port_of(text.substr(colon + 1)) == 0) return false;
  const auto host = text.substr(0, colon);
  return is_host(host) && std::none_of(host.begin(), host.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

void append_percent_encoded(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (alphanumeric.find(c) != std::string_view::npos || c == '-' || c == '.' || c == '_' || c == '~')
      out += c;
    else
      fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<unsigned char>(c));
  }
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned byte = 0;
    if (text[at] == '%' && at + 2 < text.size() &&
        std::from_chars(text.data() + at + 1, text.data() + at + 3, byte, 16).ptr == text.data() + at + 3) {
      out += static_cast<char>(byte);
      at += 2;
    } else {
      out += text[at];
    }
  }
  return out;
}

}  // namespace ratchet
