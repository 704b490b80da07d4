#pragma once
// A user's token for one that a tool's audience takes: OAuth 2.0 token exchange (RFC 8693), the client
// authenticated by its secret (RFC 6749 section 2.3.1). Only the words; the broker sends them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/result.hpp"
#include "runtime/tools/connector.hpp"

namespace ratchet {

struct ExchangeEndpoint {
  std::string token_url;  ///< one that `parse_url` takes
  std::string client_id;
  std::string client_secret;  ///< a secret
};

/// The question. A secret as a whole: nothing of it goes anywhere but to the endpoint.
ConnectorCall exchange_call(const ExchangeEndpoint& endpoint,
                            std::string_view user_token,
                            std::string_view audience,
                            const std::vector<std::string>& scopes);

struct ExchangeAnswer {
  /// token: it may be sent.   needs_user: the user's token is not taken any more.   failed: `why` says why;
  /// another token of the user would not help.
  enum class Kind { token, needs_user, failed } kind = Kind::failed;
  std::string token = {};                    ///< a secret
  std::optional<std::int64_t> life_ms = {};  ///< none: the answer does not say
  std::string why = {};                      ///< never a secret
};

/// What the endpoint said. A token that is not a bearer's is none.
ExchangeAnswer read_exchange(const ConnectorOutcome& outcome);

}  // namespace ratchet
