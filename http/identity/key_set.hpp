#pragma once
// The public keys of the issuer of user tokens: what of a JWKS (RFC 7517) may verify a signature, and which.

#include <string>
#include <string_view>
#include <vector>

#include "runtime/enums.hpp"
#include "runtime/result.hpp"

namespace ratchet {

/// The signatures that are accepted (RFC 7518 section 3). There is no `none` and nothing symmetric: a public
/// key must never be taken for a secret.
RATCHET_ENUM(TokenAlgorithm, RS256, PS256, ES256)

struct VerifyingKey {
  std::string id;                          ///< `kid`; empty: it has none
  std::vector<TokenAlgorithm> algorithms;  ///< that it may verify: what its type can, and its `alg` allows
  std::string jwk;                         ///< its public members, as JSON
};

struct KeySet {
  std::vector<VerifyingKey> keys;

  bool has(std::string_view id) const;
  /// The keys that a token with this `kid` may be signed with. A token without one fits only where a single
  /// key can verify its algorithm. Valid as long as the set.
  std::vector<const VerifyingKey*> candidates(std::string_view id, TokenAlgorithm algorithm) const;
};

/// Keys that may not verify are left out: symmetric and private ones, other types and curves, keys meant for
/// something else (`use`, `key_ops`), RSA keys that are too short or too long. Errors: invalid_json;
/// invalid_request, if it is no set, is too large, or no key of it is left.
Result<KeySet> parse_key_set(std::string_view json);

}  // namespace ratchet
