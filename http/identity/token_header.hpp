#pragma once
// What a signed token says of itself before anything of it is believed (RFC 7515 section 4.1).

#include <string>
#include <string_view>

#include "http/identity/key_set.hpp"
#include "runtime/result.hpp"

namespace ratchet {

struct TokenHeader {
  TokenAlgorithm algorithm = TokenAlgorithm::RS256;
  std::string key_id;  ///< empty: it names none
};

/// Of a token in the compact form. Refused: algorithms that are not accepted, `crit` (nothing is understood
/// that it could ask for), types other than JWT and at+jwt. Keys that the header brings along or points to
/// (`jwk`, `jku`, `x5c`, `x5u`) are never looked at. Errors: invalid_user_token.
Result<TokenHeader> read_token_header(std::string_view token);

}  // namespace ratchet
