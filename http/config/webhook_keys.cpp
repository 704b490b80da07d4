#include "http/config/webhook_keys.hpp"

namespace ratchet::config {

namespace {

constexpr Key<KeySource> webhook_keys[] = {
    {"secret_file",
     "null",
     "A file that holds what webhooks are signed with, `whsec_…`, up to 4 separated by commas; relative to "
     "this file. Without any: <data_dir>/webhook.secret, made at the first start.",
     [](KeySource& s, const Value& v) { return read_optional_text(v, s.file); }},
    {"secret_env",
     "null",
     "An environment variable that holds it.",
     [](KeySource& s, const Value& v) { return read_optional_text(v, s.env); }},
    {"secret_credential",
     "null",
     "A systemd credential that holds it (LoadCredential=).",
     [](KeySource& s, const Value& v) { return read_optional_text(v, s.credential); }},
};

}  // namespace

Done read_webhooks(const Value& value, KeySource& secret) {
  if (auto done = read_section<KeySource>(value, webhook_keys, secret); !done) return done;
  if (!secret.file.empty() + !secret.env.empty() + !secret.credential.empty() > 1)
    return fail_at(value,
                   ErrorCode::invalid_request,
                   "only one of secret_file, secret_env and secret_credential can be set");
  return {};
}

void list_webhooks(std::string_view path, std::vector<ConfigKey>& out) {
  list_keys<KeySource>(std::string(path) + ".", webhook_keys, out);
}

}  // namespace ratchet::config
