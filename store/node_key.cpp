#include "store/node_key.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <sodium.h>

#include "store/file.hpp"

namespace ratchet {

namespace {

constexpr std::size_t key_bytes = crypto_aead_xchacha20poly1305_ietf_KEYBYTES;
constexpr std::size_t nonce_bytes = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr std::size_t tag_bytes = crypto_aead_xchacha20poly1305_ietf_ABYTES;
constexpr std::size_t overhead_bytes = 1 + nonce_bytes + tag_bytes;
constexpr char sealed_form = 1;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* bytes_of(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

/// What else will be sealed under the key one day must not open as a token.
std::string bound_in(const RunId& run) {
  return std::string("user_token") += run.ulid.view();
}

tl::unexpected<Error> unusable(const std::string& path, std::string_view why) {
  return fail(ErrorCode::corrupt,
              fmt::format("the node key {} {}: no user token can be sealed or read", path, why));
}

std::string reason(int code) {
  return std::generic_category().message(code);
}

}  // namespace

void NodeKey::Wipe::operator()(unsigned char* bytes) const {
  sodium_free(bytes);
}

NodeKey::Bytes NodeKey::allocate() {
  RATCHET_ENSURE(sodium_init() >= 0, "libsodium cannot start");
  Bytes bytes(static_cast<unsigned char*>(sodium_malloc(key_bytes)));
  RATCHET_ENSURE(bytes != nullptr, "no memory for the node key");
  return bytes;
}

Result<NodeKey> NodeKey::read(const std::string& path) {
  const File file(path, O_RDONLY | O_NONBLOCK);
  if (!file) return unusable(path, fmt::format("cannot be opened ({})", reason(errno)));
  struct stat status{};
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return unusable(path, "is no file");
  if (status.st_size != key_bytes)
    return unusable(path, fmt::format("has {} bytes, not {}", status.st_size, key_bytes));
  Bytes bytes = allocate();
  if (pread(file.get(), bytes.get(), key_bytes, 0) != static_cast<ssize_t>(key_bytes))
    return unusable(path, "cannot be read");
  if (sodium_is_zero(bytes.get(), key_bytes)) return unusable(path, "is all zeros");
  return NodeKey(std::move(bytes));
}

Result<NodeKey> NodeKey::read_or_make(const std::string& path) {
  struct stat status{};
  if (lstat(path.c_str(), &status) == 0 || errno != ENOENT) return read(path);
  Bytes bytes = allocate();
  randombytes_buf(bytes.get(), key_bytes);
  if (const int code = write_private_file(path, {reinterpret_cast<const char*>(bytes.get()), key_bytes}))
    return unusable(path, fmt::format("cannot be made ({})", reason(code)));
  return NodeKey(std::move(bytes));
}

std::string NodeKey::seal(const RunId& run, std::string_view token) const {
  const std::string bound = bound_in(run);
  std::string sealed(overhead_bytes + token.size(), sealed_form);
  unsigned char* nonce = bytes_of(sealed) + 1;
  randombytes_buf(nonce, nonce_bytes);
  crypto_aead_xchacha20poly1305_ietf_encrypt(nonce + nonce_bytes,
                                             nullptr,
                                             bytes_of(token),
                                             token.size(),
                                             bytes_of(bound),
                                             bound.size(),
                                             nullptr,
                                             nonce,
                                             bytes_.get());
  return sealed;
}

bool NodeKey::is_sealed(std::string_view bytes) {
  return bytes.size() >= overhead_bytes && bytes[0] == sealed_form;
}

Result<std::string> NodeKey::unseal(const RunId& run, std::string_view sealed) const {
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorCode::corrupt,
                fmt::format("the user token of {} cannot be unsealed: {}", to_string(run), why));
  };
  if (!is_sealed(sealed)) return refuse("its form is not known");
  const std::string bound = bound_in(run);
  const unsigned char* nonce = bytes_of(sealed) + 1;
  // The bytes are written only once their tag has been checked, so that a refusal leaves none of them.
  std::string token(sealed.size() - overhead_bytes, '\0');
  const int code = crypto_aead_xchacha20poly1305_ietf_decrypt(bytes_of(token),
                                                              nullptr,
                                                              nullptr,
                                                              nonce + nonce_bytes,
                                                              token.size() + tag_bytes,
                                                              bytes_of(bound),
                                                              bound.size(),
                                                              nonce,
                                                              bytes_.get());
  if (code != 0) return refuse("it was sealed under another node key, or for another run");
  return token;
}

}  // namespace ratchet
