#include "http/identity/users.hpp"

#include "http/identity/signature.hpp"
#include "http/identity/token_header.hpp"

namespace ratchet {

namespace {

Result<User> verified(const KeySet& keys,
                      std::string_view token,
                      const TokenHeader& header,
                      const TokenRules& rules,
                      Timestamp now) {
  const auto candidates = keys.candidates(header.key_id, header.algorithm);
  Result<std::string> payload =
      fail(ErrorCode::invalid_user_token,
           header.key_id.empty() ? "the user token does not say which of the issuer's keys signed it (`kid`)"
                                 : "the issuer has no key of the user token's id (`kid`) for its algorithm",
           "/user_token");
  for (const VerifyingKey* key : candidates) {
    payload = verify_signature(token, *key, header.algorithm);
    if (payload) break;
  }
  if (!payload) return tl::unexpected(payload.error());
  return read_claims(*payload, rules, now);
}

}  // namespace

JwtUsers::JwtUsers(JwtOptions options, Connector& connector, Clock& clock, Log log)
    : options_(std::move(options)),
      clock_(clock),
      keys_(connector, clock, options_.jwks_url, std::move(log)) {
  keys_.warm_up();
}

void JwtUsers::verify(std::string token, OnUser on_user) {
  if (options_.dev_tokens_too && token.starts_with("dev:")) return on_user(parse_dev_token(token));
  auto header = read_token_header(token);
  if (!header) return on_user(tl::unexpected(header.error()));
  const std::string key_id = header->key_id;
  keys_.get(key_id,
            [this, token = std::move(token), header = std::move(*header), on_user = std::move(on_user)](
                const Result<IssuerKeys::Keys>& keys) {
              if (!keys) return on_user(tl::unexpected(keys.error()));
              on_user(verified(**keys, token, header, options_.rules, clock_.now()));
            });
}

}  // namespace ratchet
