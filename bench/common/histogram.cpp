#include "bench/common/histogram.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ratchet::bench {

std::size_t Histogram::bucket_of(std::uint64_t value) {
  if (value < buckets_per_power) return value;
  const unsigned shift = std::bit_width(value) - bucket_bits - 1;
  return shift * buckets_per_power + (value >> shift);
}

std::uint64_t Histogram::middle_of(std::size_t bucket) {
  if (bucket < 2 * buckets_per_power) return bucket;
  const auto shift = bucket / buckets_per_power - 1;
  const auto low = (bucket - shift * buckets_per_power) << shift;
  return low + (std::uint64_t{1} << shift) / 2;
}

void Histogram::record(std::int64_t duration_ns) {
  duration_ns = std::max<std::int64_t>(duration_ns, 0);
  ++buckets_[bucket_of(static_cast<std::uint64_t>(duration_ns))];
  ++count_;
  max_ns_ = std::max(max_ns_, duration_ns);
}

std::int64_t Histogram::quantile_ns(double fraction) const {
  if (count_ == 0) return 0;
  auto left = static_cast<std::uint64_t>(fraction * static_cast<double>(count_ - 1)) + 1;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    if (buckets_[bucket] >= left) return std::min(static_cast<std::int64_t>(middle_of(bucket)), max_ns_);
    left -= buckets_[bucket];
  }
  return max_ns_;
}

std::string Histogram::to_json() const {
  const auto us = [this](double fraction) { return static_cast<double>(quantile_ns(fraction)) / 1e3; };
  return fmt::format(R"({{"count":{},"p50_us":{:.1f},"p95_us":{:.1f},"p99_us":{:.1f},"max_us":{:.1f}}})",
                     count_,
                     us(0.50),
                     us(0.95),
                     us(0.99),
                     static_cast<double>(max_ns_) / 1e3);
}

}  // namespace ratchet::bench
