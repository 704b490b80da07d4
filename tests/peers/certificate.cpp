#include "tests/peers/certificate.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <unistd.h>

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace ratchet::tests {

namespace {

void check(bool good) {
  if (!good) std::abort();
}

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using X509Ptr = std::unique_ptr<X509, decltype(&X509_free)>;

X509Ptr sign_itself(const std::string& host, EVP_PKEY* key) {
  X509Ptr certificate(X509_new(), X509_free);
  X509* x509 = certificate.get();
  check(X509_set_version(x509, 2) == 1);
  ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
  X509_gmtime_adj(X509_getm_notBefore(x509), -43'200);
  X509_gmtime_adj(X509_getm_notAfter(x509), 43'200);
  check(X509_set_pubkey(x509, key) == 1);
  X509_NAME* name = X509_get_subject_name(x509);
  const auto* bytes = reinterpret_cast<const unsigned char*>(host.c_str());
  check(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, bytes, -1, -1, 0) == 1);
  check(X509_set_issuer_name(x509, name) == 1);
  X509_EXTENSION* names =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, ("DNS:" + host).c_str());
  check(names != nullptr && X509_add_ext(x509, names, -1) == 1);
  X509_EXTENSION_free(names);
  check(X509_sign(x509, key, EVP_sha256()) > 0);
  return certificate;
}

template <class Write>
void write(const std::string& path, Write&& write_pem) {
  FILE* file = std::fopen(path.c_str(), "w");
  check(file != nullptr && write_pem(file) == 1 && std::fclose(file) == 0);
}

}  // namespace

Certificate::Certificate(const std::string& host)
    : file_(testing::TempDir() + "certificate_" + std::to_string(::getpid()) + "_" + host + ".pem"),
      key_file_(file_ + ".key") {
  const Key key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  check(key != nullptr);
  const auto certificate = sign_itself(host, key.get());
  write(file_, [&](FILE* file) { return PEM_write_X509(file, certificate.get()); });
  write(key_file_, [&](FILE* file) {
    return PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
}

Certificate::~Certificate() {
  std::filesystem::remove(file_);
  std::filesystem::remove(key_file_);
}

}  // namespace ratchet::tests
