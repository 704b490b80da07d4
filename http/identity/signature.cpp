#include "http/identity/signature.hpp"

#include <algorithm>
#include <cjose/cjose.h>
#include <memory>

namespace ratchet {

namespace {

struct Release {
  void operator()(cjose_jws_t* jws) const { cjose_jws_release(jws); }

  void operator()(cjose_jwk_t* jwk) const { cjose_jwk_release(jwk); }
};

using Jws = std::unique_ptr<cjose_jws_t, Release>;
using Jwk = std::unique_ptr<cjose_jwk_t, Release>;

tl::unexpected<Error> refuse(std::string why) {
  return fail(ErrorCode::invalid_user_token, std::move(why), "/user_token");
}

/// What cjose will go by, which has to be what was judged.
bool names(cjose_jws_t* jws, TokenAlgorithm algorithm) {
  cjose_err error{};
  const char* named = cjose_header_get(cjose_jws_get_protected(jws), CJOSE_HDR_ALG, &error);
  return named != nullptr && named == name(algorithm);
}

}  // namespace

Result<std::string> verify_signature(std::string_view token,
                                     const VerifyingKey& key,
                                     TokenAlgorithm algorithm) {
  if (std::find(key.algorithms.begin(), key.algorithms.end(), algorithm) == key.algorithms.end())
    return refuse("the key of the user token is of another type than its algorithm");
  cjose_err error{};
  const Jws jws(cjose_jws_import(token.data(), token.size(), &error));
  if (!jws || !names(jws.get(), algorithm)) return refuse("the user token is not a signed JWT");
  // Read for each token: a key of cjose counts its users without a lock.
  const Jwk jwk(cjose_jwk_import(key.jwk.data(), key.jwk.size(), &error));
  if (!jwk) return refuse("the issuer's key of the user token cannot be used");
  if (!cjose_jws_verify(jws.get(), jwk.get(), &error))
    return refuse("the signature of the user token is wrong");
  std::uint8_t* bytes = nullptr;  // of the jws
  std::size_t size = 0;
  if (!cjose_jws_get_plaintext(jws.get(), &bytes, &size, &error))
    return refuse("the user token has no payload");
  return std::string(reinterpret_cast<const char*>(bytes), size);
}

}  // namespace ratchet
