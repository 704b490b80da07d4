#pragma once
// A histogram of durations with a relative error below 1.6 %: each power of two is cut into 64 equal buckets.
// Recording is two shifts and an increment, and nothing is ever allocated.

#include <array>
#include <bit>
#include <cstdint>
#include <string>

namespace ratchet::bench {

class Histogram {
 public:
  void record(std::int64_t duration_ns);

  std::uint64_t count() const { return count_; }

  /// The middle of the bucket that holds the `fraction` (0 to 1) of all values; 0 where there are none.
  std::int64_t quantile_ns(double fraction) const;

  std::int64_t max_ns() const { return max_ns_; }

  /// `{"count":…,"p50_us":…,"p95_us":…,"p99_us":…,"max_us":…}`
  std::string to_json() const;

 private:
  static constexpr unsigned bucket_bits = 6;
  static constexpr unsigned buckets_per_power = 1u << bucket_bits;

  static std::size_t bucket_of(std::uint64_t value);
  static std::uint64_t middle_of(std::size_t bucket);

  std::array<std::uint64_t, (64 - bucket_bits + 1) * buckets_per_power> buckets_{};
  std::uint64_t count_ = 0;
  std::int64_t max_ns_ = 0;
};

}  // namespace ratchet::bench
