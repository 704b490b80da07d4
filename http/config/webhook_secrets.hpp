#pragma once
// What webhooks are signed with: configured, or made by the server itself, so that they are signed in any
// case.

#include <string>
#include <vector>

#include "http/config/server_config.hpp"
#include "runtime/result.hpp"
#include "runtime/webhook.hpp"

namespace ratchet {

/// The configured secrets, newest first; none, where the source is empty. A variable that was read is removed
/// from the environment: call it before there are threads. Errors: invalid_request, naming the source.
Result<std::vector<WebhookSecret>> read_webhook_secrets(const KeySource& source);

/// The secret of `<data_dir>/webhook.secret`, which is made, readable by its owner alone, where it does not
/// exist. Errors: invalid_request, naming the file.
Result<WebhookSecret> own_webhook_secret(const std::string& data_dir);

}  // namespace ratchet
