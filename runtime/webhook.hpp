#pragma once
// Signatures of what is posted to receivers, so that they know it is from us, is unchanged and is fresh:
// Standard Webhooks (https://github.com/standard-webhooks/standard-webhooks, symmetric form).

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/result.hpp"
#include "runtime/time.hpp"

namespace ratchet {

/// A key that receivers share with us. Its text is a secret.
class WebhookSecret {
 public:
  /// `whsec_` and base64 of 24 to 64 bytes. Errors: invalid_request; its text never has the secret.
  static Result<WebhookSecret> parse(std::string_view text);

  /// base64 of HMAC-SHA256 over `{id}.{seconds}.{body}`.
  std::string sign(std::string_view id, Timestamp at, std::string_view body) const;

 private:
  explicit WebhookSecret(std::string key) : key_(std::move(key)) {}

  std::string key_;
};

/// The text of a secret with these bytes, 24 to 64 of them.
std::string webhook_secret_text(std::string_view bytes);

/// `webhook-id`, `webhook-timestamp` and `webhook-signature`, the last with a signature by each of `secrets`,
/// so that receivers can change over from one to the next; without secrets there is none.
std::vector<std::pair<std::string, std::string>> webhook_headers(const std::vector<WebhookSecret>& secrets,
                                                                 std::string_view id,
                                                                 Timestamp at,
                                                                 std::string_view body);

}  // namespace ratchet
