#pragma once
// SHA-256 (FIPS 180-4) as a value. Used for the audit chain, prompts, canonical arguments and digests.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/result.hpp"

namespace ratchet {

struct Hash {
  std::array<std::uint8_t, 32> bytes{};

  bool operator==(const Hash&) const = default;

  std::string_view view() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

/// 64 lower-case hex digits.
std::string to_string(const Hash& hash);
/// Errors: invalid_request.
Result<Hash> parse_hash(std::string_view hex);

Hash sha256(std::string_view bytes);

/// A running hash that can be copied in mid-stream: the prefix of a prompt is hashed once and finished many
/// times.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256& other);
  Sha256& operator=(const Sha256& other);
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  Sha256& add(std::string_view bytes);
  /// The hash of what was added so far. The object can go on.
  Hash finish() const;

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace ratchet
