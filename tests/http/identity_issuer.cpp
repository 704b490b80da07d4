#include "tests/http/identity_issuer.hpp"

#include <cstdlib>
#include <vector>

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

namespace ratchet::testing {

namespace {

constexpr std::size_t coordinate_bytes = 32;

void check(bool done) {
  if (!done) std::abort();
}

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string big_endian(const BIGNUM* number, std::size_t width) {
  const auto size = width == 0 ? static_cast<std::size_t>(BN_num_bytes(number)) : width;
  std::string out(size, '\0');
  check(BN_bn2binpad(number, reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(size)) > 0);
  return out;
}

/// From the form of X.509 to that of JWS: both numbers, one after the other.
std::string raw_signature(std::string_view der) {
  const unsigned char* at = bytes(der);
  const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> pair(
      d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())), ECDSA_SIG_free);
  check(pair != nullptr);
  return big_endian(ECDSA_SIG_get0_r(pair.get()), coordinate_bytes) +
         big_endian(ECDSA_SIG_get0_s(pair.get()), coordinate_bytes);
}

}  // namespace

std::string base64url(std::string_view text) {
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  unsigned bits = 0;
  int count = 0;
  for (const char c : text) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6)
      out += alphabet[bits >> (count - 6) & 63];
  }
  if (count > 0) out += alphabet[bits << (6 - count) & 63];
  return out;
}

SigningKey::SigningKey(std::string id, EVP_PKEY* key) : id_(std::move(id)), key_(key, EVP_PKEY_free) {
  check(key != nullptr);
}

SigningKey SigningKey::rsa(std::string id, unsigned bits) {
  return {std::move(id), EVP_RSA_gen(bits)};
}

SigningKey SigningKey::p256(std::string id) {
  return {std::move(id), EVP_EC_gen("P-256")};
}

std::string SigningKey::number(const char* parameter, std::size_t width) const {
  BIGNUM* number = nullptr;
  check(EVP_PKEY_get_bn_param(key_.get(), parameter, &number) == 1);
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> owner(number, BN_free);
  return base64url(big_endian(number, width));
}

std::string SigningKey::jwk(std::string_view more) const {
  if (EVP_PKEY_is_a(key_.get(), "RSA"))
    return fmt::format(R"({{"kty":"RSA","kid":"{}","n":"{}","e":"{}"{}}})",
                       id_,
                       number(OSSL_PKEY_PARAM_RSA_N),
                       number(OSSL_PKEY_PARAM_RSA_E),
                       more);
  return fmt::format(R"({{"kty":"EC","crv":"P-256","kid":"{}","x":"{}","y":"{}"{}}})",
                     id_,
                     number(OSSL_PKEY_PARAM_EC_PUB_X, coordinate_bytes),
                     number(OSSL_PKEY_PARAM_EC_PUB_Y, coordinate_bytes),
                     more);
}

std::string SigningKey::private_jwk() const {
  const bool is_rsa = EVP_PKEY_is_a(key_.get(), "RSA") == 1;
  return jwk(fmt::format(R"(,"d":"{}")", number(is_rsa ? OSSL_PKEY_PARAM_RSA_D : OSSL_PKEY_PARAM_PRIV_KEY)));
}

std::string SigningKey::public_pem() const {
  const std::unique_ptr<BIO, decltype(&BIO_free)> memory(BIO_new(BIO_s_mem()), BIO_free);
  check(PEM_write_bio_PUBKEY(memory.get(), key_.get()) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string SigningKey::signature(std::string_view algorithm, std::string_view text) const {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  EVP_PKEY_CTX* options = nullptr;
  check(EVP_DigestSignInit(context.get(), &options, EVP_sha256(), nullptr, key_.get()) == 1);
  if (algorithm == "PS256") {
    check(EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING) == 1);
    check(EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_DIGEST) == 1);
  }
  std::size_t size = 0;
  check(EVP_DigestSign(context.get(), nullptr, &size, bytes(text), text.size()) == 1);
  std::string out(size, '\0');
  check(EVP_DigestSign(
            context.get(), reinterpret_cast<unsigned char*>(out.data()), &size, bytes(text), text.size()) ==
        1);
  out.resize(size);
  return EVP_PKEY_is_a(key_.get(), "EC") ? raw_signature(out) : out;
}

std::string SigningKey::token(std::string_view algorithm, std::string_view payload) const {
  return token_with_header(
      algorithm, fmt::format(R"({{"alg":"{}","kid":"{}","typ":"JWT"}})", algorithm, id_), payload);
}

std::string SigningKey::token_with_header(std::string_view algorithm,
                                          std::string_view header,
                                          std::string_view payload) const {
  const std::string text = base64url(header) + "." + base64url(payload);
  return text + "." + base64url(signature(algorithm, text));
}

std::string hmac_token(std::string_view secret, std::string_view header, std::string_view payload) {
  const std::string text = base64url(header) + "." + base64url(payload);
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  check(HMAC(EVP_sha256(),
             secret.data(),
             static_cast<int>(secret.size()),
             bytes(text),
             text.size(),
             out,
             &size) != nullptr);
  return text + "." + base64url({reinterpret_cast<const char*>(out), size});
}

std::string key_set(std::initializer_list<std::string> jwks) {
  std::string out = R"({"keys":[)";
  for (const auto& jwk : jwks)
    out += (out.ends_with('[') ? "" : ",") + jwk;
  return out + "]}";
}

}  // namespace ratchet::testing
