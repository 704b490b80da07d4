#include "http/auth.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <openssl/crypto.h>

#include "http/server/ascii.hpp"
#include "runtime/hash.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

constexpr std::string_view scheme = "bearer ";

/// The host of `host[:port]`, without brackets.
std::string_view host_of(std::string_view authority) {
  if (authority.starts_with('[')) {
    const auto end = authority.find(']');
    return end == std::string_view::npos ? authority : authority.substr(1, end - 1);
  }
  return authority.substr(0, authority.find(':'));
}

bool is_loopback_name(std::string_view host) {
  return same_ignoring_case(host, "localhost") || host == "127.0.0.1" || host == "::1";
}

/// Visible ASCII without the separators of the token's form.
bool is_token_part(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f && c != ','; });
}

tl::unexpected<Error> bad_token(std::string why) {
  return fail(ErrorCode::invalid_user_token, std::move(why), "/user_token");
}

}  // namespace

bool Client::may(Role role) const {
  return std::find(roles.begin(), roles.end(), role) != roles.end();
}

Result<Client> Clients::find(const Request& request) const {
  if (request.count("Authorization") != 1)
    return fail(ErrorCode::unauthenticated,
                "expected one header Authorization with the scheme Bearer and an API key");
  auto credentials = *request.header("Authorization");
  if (!same_ignoring_case(credentials.substr(0, scheme.size()), scheme))
    return fail(ErrorCode::unauthenticated, "expected the scheme Bearer");
  credentials.remove_prefix(scheme.size());
  const Hash given = sha256(credentials);
  const ClientKey* found = nullptr;
  for (const auto& key : keys_)
    if (CRYPTO_memcmp(key.sha256.bytes.data(), given.bytes.data(), given.bytes.size()) == 0) found = &key;
  if (!found) return fail(ErrorCode::unauthenticated, "the API key is not known");
  return Client{found->id, found->team, found->roles};
}

Client dev_client() {
  return {"dev", "default", {Role::read, Role::launch, Role::approve, Role::audit, Role::admin}};
}

Result<void> check_local(const Request& request) {
  const auto host = request.header("Host").value_or("");
  if (!is_loopback_name(host_of(host)))
    return fail(ErrorCode::foreign_origin,
                fmt::format("a development server answers to localhost only, not to the host '{}'", host));
  const auto origin = request.header("Origin");
  if (!origin) return {};
  // The page's own origin is what it reached us under: another port is another site.
  const bool own = same_ignoring_case(*origin, fmt::format("http://{}", host));
  if (own && request.count("Origin") == 1) return {};
  return fail(ErrorCode::foreign_origin, fmt::format("the origin '{}' is not this server's", *origin));
}

Result<User> parse_dev_token(std::string_view token) {
  constexpr std::string_view prefix = "dev:";
  if (!token.starts_with(prefix))
    return bad_token("this server takes user tokens of the form dev:<user>[:<scope>,…] only");
  token.remove_prefix(prefix.size());
  User user;
  const auto colon = token.find(':');
  user.id = std::string(token.substr(0, colon));
  if (!is_token_part(user.id) || user.id.size() > limits::user_id_bytes_max)
    return bad_token(
        fmt::format("the token's user has to be 1 to {} visible characters", limits::user_id_bytes_max));
  if (colon == std::string_view::npos) return user;
  auto rest = token.substr(colon + 1);
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const auto scope = rest.substr(0, comma);
    if (!is_token_part(scope) || scope.size() > limits::scope_bytes_max)
      return bad_token("a scope of the token is empty, too long, or has characters that are not visible");
    user.scopes.emplace_back(scope);
    if (user.scopes.size() > limits::scopes_max)
      return bad_token(fmt::format("the token has more than {} scopes", limits::scopes_max));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  std::sort(user.scopes.begin(), user.scopes.end());
  user.scopes.erase(std::unique(user.scopes.begin(), user.scopes.end()), user.scopes.end());
  return user;
}

}  // namespace ratchet
