#include "runtime/hash.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

namespace ratchet {

namespace {

/// Fetched once: OpenSSL 3 looks an algorithm up by name at every use otherwise.
const EVP_MD* algorithm() {
  static const EVP_MD* const fetched = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return fetched;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

struct Sha256::Context {
  EVP_MD_CTX* digest = EVP_MD_CTX_new();

  ~Context() { EVP_MD_CTX_free(digest); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  RATCHET_ENSURE(EVP_DigestInit_ex2(context_->digest, algorithm(), nullptr) == 1, "SHA-256 is available");
}

Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

Sha256::Sha256(const Sha256& other) : context_(std::make_unique<Context>()) {
  RATCHET_ENSURE(EVP_MD_CTX_copy_ex(context_->digest, other.context_->digest) == 1, "a hash can be copied");
}

Sha256& Sha256::operator=(const Sha256& other) {
  if (this != &other) *this = Sha256(other);
  return *this;
}

Sha256& Sha256::add(std::string_view bytes) {
  RATCHET_ENSURE(EVP_DigestUpdate(context_->digest, bytes.data(), bytes.size()) == 1, "a hash can go on");
  return *this;
}

Hash Sha256::finish() const {
  const Sha256 copy(*this);
  Hash hash;
  RATCHET_ENSURE(EVP_DigestFinal_ex(copy.context_->digest, hash.bytes.data(), nullptr) == 1,
                 "a hash can be finished");
  return hash;
}

Hash sha256(std::string_view bytes) {
  Hash hash;
  RATCHET_ENSURE(
      EVP_Digest(bytes.data(), bytes.size(), hash.bytes.data(), nullptr, algorithm(), nullptr) == 1,
      "SHA-256 is available");
  return hash;
}

std::string to_string(const Hash& hash) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(64);
  for (const std::uint8_t byte : hash.bytes) {
    hex += digits[byte >> 4];
    hex += digits[byte & 15];
  }
  return hex;
}

Result<Hash> parse_hash(std::string_view hex) {
  Hash hash;
  if (hex.size() != 64) return fail(ErrorCode::invalid_request, "a hash has 64 hex digits");
  for (std::size_t i = 0; i < 32; ++i) {
    const int high = hex_value(hex[2 * i]), low = hex_value(hex[2 * i + 1]);
    if (high < 0 || low < 0) return fail(ErrorCode::invalid_request, "a hash has 64 hex digits");
    hash.bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return hash;
}

}  // namespace ratchet
