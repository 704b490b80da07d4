#pragma once
// The key of this node, and what is sealed under it: the tokens of users, on whose behalf runs act. Sealed is
// XChaCha20-Poly1305 (libsodium's crypto_aead_xchacha20poly1305_ietf) with a fresh random nonce; the run's id
// is bound in, so that a token that was moved to another run does not open.
//
// Key and tokens appear in no error and in no log line.

#include <memory>
#include <string>
#include <string_view>

#include "runtime/ids.hpp"
#include "runtime/result.hpp"

namespace ratchet {

class NodeKey {
 public:
  static constexpr std::string_view file_name = "/node.key";

  /// Errors: corrupt, where the file is missing, cannot be read, or is no key of 32 bytes.
  static Result<NodeKey> read(const std::string& path);
  /// The same; where the file is missing it is made, whole or not at all, for its owner only. Returns when it
  /// is durable. The caller holds the directory. Errors: corrupt, where it cannot be made too.
  static Result<NodeKey> read_or_make(const std::string& path);

  /// Called from any thread.
  std::string seal(const RunId& run, std::string_view token) const;
  /// Whether it has the form of what `seal` returns.
  static bool is_sealed(std::string_view bytes);
  /// Called from any thread. Errors: corrupt, where it was sealed under another key, or for another run.
  Result<std::string> unseal(const RunId& run, std::string_view sealed) const;

 private:
  /// In pages of its own that are locked into memory, left out of core dumps, and wiped when they are freed.
  struct Wipe {
    void operator()(unsigned char* bytes) const;
  };

  using Bytes = std::unique_ptr<unsigned char[], Wipe>;

  explicit NodeKey(Bytes bytes) : bytes_(std::move(bytes)) {}

  static Bytes allocate();

  Bytes bytes_;
};

}  // namespace ratchet
