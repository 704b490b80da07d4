#pragma once
// Ids are a prefix and a ULID (github.com/ulid/spec): 48 bits of milliseconds, 80 bits of entropy, 26
// characters of Crockford base32. Each kind is its own type. Ids sort by the time they were made, but nothing
// relies on it: order within a run is `seq`, order in the store is the append number.

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/result.hpp"
#include "runtime/time.hpp"

namespace ratchet {

struct Ulid {
  std::array<std::uint8_t, 16> bytes{};

  auto operator<=>(const Ulid&) const = default;

  std::string_view view() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

  bool empty() const { return *this == Ulid{}; }
};

/// Randomness as a value: a seed that was drawn once, and what is derived from it by SHA-256 and a counter.
/// The core gets it with each input, like the time.
class Entropy {
 public:
  Entropy() = default;

  explicit Entropy(std::array<std::uint8_t, 16> seed) : seed_(seed) {}

  /// Sixteen bytes that nobody can guess, other ones at each call.
  std::array<std::uint8_t, 16> draw();

 private:
  std::array<std::uint8_t, 16> seed_{};
  std::uint32_t drawn_ = 0;
};

/// From the operating system. Called from any thread.
Entropy system_entropy();

/// When something happens, and the randomness it may use.
struct Stamp {
  Timestamp at;
  Entropy entropy;
};

Ulid make_ulid(Stamp& stamp);
std::string to_string(const Ulid& ulid);
/// Takes 26 characters of Crockford base32 in upper case. Errors: invalid_id.
Result<Ulid> parse_ulid(std::string_view text);

template <class Kind>
struct Id {
  Ulid ulid;

  auto operator<=>(const Id&) const = default;

  bool empty() const { return ulid.empty(); }

  static Id make(Stamp& stamp) { return {make_ulid(stamp)}; }
};

struct RunKind {
  static constexpr std::string_view prefix = "run_";
};

struct ArtifactKind {
  static constexpr std::string_view prefix = "art_";
};

struct ApprovalKind {
  static constexpr std::string_view prefix = "apr_";
};

using RunId = Id<RunKind>;
using ArtifactId = Id<ArtifactKind>;
using ApprovalId = Id<ApprovalKind>;

template <class Kind>
std::string to_string(const Id<Kind>& id) {
  return std::string(Kind::prefix) + to_string(id.ulid);
}

/// Errors: invalid_id, with the form that is expected.
template <class Kind>
Result<Id<Kind>> parse_id(std::string_view text) {
  if (!text.starts_with(Kind::prefix))
    return fail(ErrorCode::invalid_id,
                "expected an id of the form " + std::string(Kind::prefix) + "<26 characters>");
  auto ulid = parse_ulid(text.substr(Kind::prefix.size()));
  if (!ulid) return tl::unexpected(ulid.error());
  return Id<Kind>{*ulid};
}

/// Agents, tools, teams and models are named `[a-z][a-z0-9_-]{0,63}`.
bool is_name(std::string_view text);

}  // namespace ratchet

template <class Kind>
struct std::hash<ratchet::Id<Kind>> {
  std::size_t operator()(const ratchet::Id<Kind>& id) const noexcept {
    return std::hash<std::string_view>()(id.ulid.view());
  }
};
