#pragma once
// An issuer of user tokens that signs whatever it is told to, with OpenSSL alone: what verifies is built on
// another library's reading of the same standards.

#include <memory>
#include <string>
#include <string_view>

#include <openssl/evp.h>

namespace ratchet::testing {

std::string base64url(std::string_view bytes);

/// One key pair.
class SigningKey {
 public:
  static SigningKey rsa(std::string id, unsigned bits = 2'048);
  static SigningKey p256(std::string id);

  /// The public half as a JWK; `more` is members, each with a comma before it.
  std::string jwk(std::string_view more = "") const;
  std::string private_jwk() const;
  std::string public_pem() const;

  /// `algorithm`: RS256, PS256 or ES256; what stands in the header is the header's affair.
  std::string signature(std::string_view algorithm, std::string_view text) const;
  /// A whole token; the header is `{"alg":…,"kid":…,"typ":"JWT"}`.
  std::string token(std::string_view algorithm, std::string_view payload) const;
  std::string token_with_header(std::string_view algorithm,
                                std::string_view header,
                                std::string_view payload) const;

  const std::string& id() const { return id_; }

 private:
  SigningKey(std::string id, EVP_PKEY* key);
  std::string number(const char* parameter, std::size_t width = 0) const;

  std::string id_;
  std::shared_ptr<EVP_PKEY> key_;
};

/// A token signed by HMAC-SHA-256.
std::string hmac_token(std::string_view secret, std::string_view header, std::string_view payload);

/// `{"keys":[…]}` of JWKs.
std::string key_set(std::initializer_list<std::string> jwks);

}  // namespace ratchet::testing
