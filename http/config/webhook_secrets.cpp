#include "http/config/webhook_secrets.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "http/config/secrets.hpp"
#include "runtime/ids.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

tl::unexpected<Error> in_source(const KeySource& source, const Error& error) {
  const std::string& where = !source.env.empty() ? source.env : source.file + source.credential;
  return fail(ErrorCode::invalid_request, fmt::format("webhooks: {}: {}", where, error.text));
}

/// 0, or what errno said. The file is whole or not there.
int write_private(const std::string& path, std::string_view text) {
  const std::string fresh = path + ".fresh";
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return errno;
  int code = 0;
  if (::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size()) || ::fsync(file) != 0)
    code = errno == 0 ? EIO : errno;
  ::close(file);
  if (code == 0 && ::rename(fresh.c_str(), path.c_str()) != 0) code = errno;
  return code;
}

std::string random_bytes() {
  std::string bytes;
  for (Entropy entropy = system_entropy(); bytes.size() < 32;) {
    const auto drawn = entropy.draw();
    bytes.append(reinterpret_cast<const char*>(drawn.data()), drawn.size());
  }
  bytes.resize(32);
  return bytes;
}

}  // namespace

Result<std::vector<WebhookSecret>> read_webhook_secrets(const KeySource& source) {
  std::vector<WebhookSecret> secrets;
  if (source.empty()) return secrets;
  const auto text = read_key(source);
  if (!text) return in_source(source, text.error());
  if (!source.env.empty()) unsetenv(source.env.c_str());
  for (std::size_t from = 0; from <= text->size();) {
    const std::size_t comma = std::min(text->find(',', from), text->size());
    auto secret = WebhookSecret::parse(std::string_view(*text).substr(from, comma - from));
    if (!secret) return in_source(source, secret.error());
    secrets.push_back(std::move(*secret));
    from = comma + 1;
  }
  if (secrets.size() > limits::webhook_secrets_max) {
    return fail(
        ErrorCode::invalid_request,
        fmt::format("webhooks: {} secrets are more than {}", secrets.size(), limits::webhook_secrets_max));
  }
  return secrets;
}

Result<WebhookSecret> own_webhook_secret(const std::string& data_dir) {
  KeySource source;
  source.file = data_dir + "/webhook.secret";
  std::error_code error;
  if (!std::filesystem::exists(source.file, error) && !error) {
    if (const int code = write_private(source.file, webhook_secret_text(random_bytes()) + "\n"))
      return fail(ErrorCode::invalid_request,
                  fmt::format("{} cannot be made: {}", source.file, std::generic_category().message(code)));
  }
  auto secrets = read_webhook_secrets(source);
  if (!secrets) return tl::unexpected(secrets.error());
  return std::move(secrets->front());
}

}  // namespace ratchet
