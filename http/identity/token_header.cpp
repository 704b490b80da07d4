#include "http/identity/token_header.hpp"

#include <algorithm>
#include <cctype>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "http/identity/base64url.hpp"
#include "runtime/json/dom.hpp"
#include "runtime/json/utf8.hpp"

namespace ratchet {

namespace {

using boost::json::object;

constexpr std::size_t header_bytes_max = 4u << 10;
constexpr std::size_t key_id_bytes_max = 255;
constexpr std::size_t shown_bytes_max = 40;

tl::unexpected<Error> refuse(std::string why) {
  return fail(ErrorCode::invalid_user_token, std::move(why), "/user_token");
}

Result<object> read_object(std::string_view token) {
  const auto end = token.find('.');
  if (end == std::string_view::npos || std::count(token.begin(), token.end(), '.') != 2)
    return refuse("the user token is not a JWT: expected three parts with dots between them");
  const auto bytes = end <= header_bytes_max ? base64url_decoded(token.substr(0, end)) : std::nullopt;
  if (!bytes) return refuse("the header of the user token is too long, or not base64url");
  auto json = parse_json(*bytes);
  if (!json || !json->is_object()) return refuse("the header of the user token is not a JSON object");
  return std::move(json->get_object());
}

Result<std::string> text_of(const object& header, std::string_view name, std::size_t bytes_max) {
  const auto* member = header.if_contains(name);
  if (!member) return std::string();
  if (!member->is_string() || member->get_string().size() > bytes_max)
    return refuse(
        fmt::format("`{}` of the user token's header is not a text of at most {} bytes", name, bytes_max));
  return std::string(member->get_string());
}

bool is_token_type(std::string type) {
  std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return std::tolower(c); });
  if (type.starts_with("application/")) type.erase(0, 12);  // RFC 7515 section 4.1.9
  return type == "jwt" || type == "at+jwt";
}

}  // namespace

Result<TokenHeader> read_token_header(std::string_view token) {
  const auto header = read_object(token);
  if (!header) return tl::unexpected(header.error());
  if (header->contains("crit"))
    return refuse("the user token asks for extensions (`crit`); none are understood");
  const auto algorithm = text_of(*header, "alg", header_bytes_max);
  if (!algorithm) return tl::unexpected(algorithm.error());
  const auto known = parse_enum<TokenAlgorithm>(*algorithm);
  if (!known)
    return refuse(fmt::format("user tokens are signed with RS256, PS256 or ES256, not with '{}'",
                              std::string_view(*algorithm).substr(0, utf8_cut(*algorithm, shown_bytes_max))));
  const auto type = text_of(*header, "typ", header_bytes_max);
  if (!type) return tl::unexpected(type.error());
  if (header->contains("typ") && !is_token_type(*type))
    return refuse(fmt::format("a token of the type '{}' is not a user token",
                              std::string_view(*type).substr(0, utf8_cut(*type, shown_bytes_max))));
  auto key_id = text_of(*header, "kid", key_id_bytes_max);
  if (!key_id) return tl::unexpected(key_id.error());
  return TokenHeader{*known, std::move(*key_id)};
}

}  // namespace ratchet
