#pragma once
// What a token claims, once its signature holds (RFC 7519 section 4.1; scopes as in RFC 8693 section 4.2).

#include <string>
#include <string_view>

#include "http/auth.hpp"
#include "runtime/result.hpp"
#include "runtime/time.hpp"

namespace ratchet {

/// Whose tokens are accepted, and for whom they must have been made.
struct TokenRules {
  std::string issuer;    ///< `iss`, exactly
  std::string audience;  ///< is, or is among, `aud`
};

/// The user of a token with this payload. Needed: `iss`, `aud`, `sub`, `exp`. Times may be off by
/// limits::token_leeway_s; `expires_at` is the token's own word. Errors: invalid_user_token.
Result<User> read_claims(std::string_view payload, const TokenRules& rules, Timestamp now);

}  // namespace ratchet
