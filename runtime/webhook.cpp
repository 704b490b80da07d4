#include "runtime/webhook.hpp"

#include <array>

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace ratchet {

namespace {

constexpr std::string_view prefix = "whsec_";
constexpr std::size_t key_bytes_min = 24, key_bytes_max = 64;

std::string base64(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // EVP_EncodeBlock ends it with a NUL
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

std::string seconds(Timestamp at) {
  return std::to_string(at.us / 1'000'000);
}

}  // namespace

Result<WebhookSecret> WebhookSecret::parse(std::string_view text) {
  const auto refused = [] {
    return fail(
        ErrorCode::invalid_request,
        fmt::format(
            "a webhook secret is {} and base64 of {} to {} bytes", prefix, key_bytes_min, key_bytes_max));
  };
  if (!text.starts_with(prefix)) return refused();
  text.remove_prefix(prefix.size());
  if (text.empty() || text.size() > 4 * ((key_bytes_max + 2) / 3)) return refused();
  std::string key(text.size(), '\0');
  const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(key.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  if (length < 0) return refused();
  // OpenSSL counts padding as bytes, and forgives spaces: what it made must give the same text again.
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  key.resize(static_cast<std::size_t>(length) - padding);
  if (key.size() < key_bytes_min || key.size() > key_bytes_max || base64(key) != text) return refused();
  return WebhookSecret(std::move(key));
}

std::string WebhookSecret::sign(std::string_view id, Timestamp at, std::string_view body) const {
  const std::string content = fmt::format("{}.{}.{}", id, seconds(at), body);
  std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
  unsigned length = 0;
  const auto* done = HMAC(EVP_sha256(),
                          key_.data(),
                          static_cast<int>(key_.size()),
                          reinterpret_cast<const unsigned char*>(content.data()),
                          content.size(),
                          mac.data(),
                          &length);
  RATCHET_ENSURE(done, "HMAC-SHA256 is available");
  return base64({reinterpret_cast<const char*>(mac.data()), length});
}

std::string webhook_secret_text(std::string_view bytes) {
  RATCHET_ENSURE(bytes.size() >= key_bytes_min && bytes.size() <= key_bytes_max,
                 "a webhook secret has 24 to 64 bytes");
  return std::string(prefix) + base64(bytes);
}

std::vector<std::pair<std::string, std::string>> webhook_headers(const std::vector<WebhookSecret>& secrets,
                                                                 std::string_view id,
                                                                 Timestamp at,
                                                                 std::string_view body) {
  std::vector<std::pair<std::string, std::string>> headers = {{"webhook-id", std::string(id)},
                                                              {"webhook-timestamp", seconds(at)}};
  std::string signatures;
  for (const WebhookSecret& secret : secrets)
    signatures += fmt::format("{}v1,{}", signatures.empty() ? "" : " ", secret.sign(id, at, body));
  if (!signatures.empty()) headers.emplace_back("webhook-signature", std::move(signatures));
  return headers;
}

}  // namespace ratchet
