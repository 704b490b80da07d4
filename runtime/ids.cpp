#include "runtime/ids.hpp"

#include <algorithm>
#include <cstring>
#include <unistd.h>
#include <utility>

#include <openssl/rand.h>

#include "runtime/hash.hpp"

namespace ratchet {

namespace {

constexpr std::string_view crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

}  // namespace

std::array<std::uint8_t, 16> Entropy::draw() {
  std::array<char, 20> block;
  std::memcpy(block.data(), seed_.data(), 16);
  for (int i = 0; i < 4; ++i)
    block[16 + i] = static_cast<char>(drawn_ >> (8 * i));
  ++drawn_;
  const Hash hash = sha256({block.data(), block.size()});
  std::array<std::uint8_t, 16> drawn;
  std::copy_n(hash.bytes.begin(), 16, drawn.begin());
  return drawn;
}

Entropy system_entropy() {
  // Most of a call's price does not depend on how much it asks for.
  constexpr std::size_t seeds = 64;
  thread_local std::array<std::array<std::uint8_t, 16>, seeds> pool;
  thread_local std::size_t left = 0;
  thread_local pid_t owner = 0;
  if (left == 0 || owner != getpid()) {  // a fork must not go on with what its parent will hand out
    RATCHET_ENSURE(RAND_bytes(pool[0].data(), sizeof pool) == 1, "the system gives randomness");
    left = seeds;
    owner = getpid();
  }
  return Entropy(std::exchange(pool[--left], {}));  // what was handed out is not kept
}

Ulid make_ulid(Stamp& stamp) {
  Ulid ulid{stamp.entropy.draw()};
  const auto ms = static_cast<std::uint64_t>(stamp.at.us / 1000);
  for (int i = 0; i < 6; ++i)
    ulid.bytes[i] = static_cast<std::uint8_t>(ms >> (8 * (5 - i)));
  return ulid;
}

std::string to_string(const Ulid& ulid) {
  // 128 bits in 26 digits of 5 bits: the first digit holds the top three bits.
  std::string text(26, '0');
  __extension__ using Wide = unsigned __int128;
  Wide value = 0;
  for (const std::uint8_t byte : ulid.bytes)
    value = value << 8 | byte;
  for (int i = 25; i >= 0; --i) {
    text[i] = crockford[static_cast<std::size_t>(value & 31)];
    value >>= 5;
  }
  return text;
}

Result<Ulid> parse_ulid(std::string_view text) {
  const auto refuse = [&] {
    return fail(ErrorCode::invalid_id, "expected 26 characters of Crockford base32");
  };
  if (text.size() != 26 || text[0] > '7') return refuse();
  __extension__ using Wide = unsigned __int128;
  Wide value = 0;
  for (const char c : text) {
    const auto digit = crockford.find(c);
    if (digit == std::string_view::npos) return refuse();
    value = value << 5 | digit;
  }
  Ulid ulid;
  for (int i = 15; i >= 0; --i) {
    ulid.bytes[i] = static_cast<std::uint8_t>(value);
    value >>= 8;
  }
  return ulid;
}

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > 64 || text[0] < 'a' || text[0] > 'z') return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

}  // namespace ratchet
