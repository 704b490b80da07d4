#pragma once
// All invariants over a data directory: what `ratchet audit` does. Works without a server, and beside a
// running one: a run is read as its row says it is at that moment.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/result.hpp"

namespace ratchet {

inline constexpr std::size_t invariant_count = 8;  ///< docs/invariants.md

struct AuditReport {
  std::uint64_t runs = 0, events = 0;
  std::uint64_t unreadable_runs = 0;
  std::array<std::uint64_t, invariant_count + 1> violations{};  ///< by invariant, from 1; of 0 there are none
  std::vector<std::string> problems;  ///< in words; the first limits::problems_told_max of them

  std::uint64_t violation_count() const;

  /// Effects that happened twice under one key, as far as journals can tell; whoever receives them counts the
  /// others.
  std::uint64_t duplicate_side_effects() const { return violations[4]; }

  /// Calls that were planned without an allow or an approval.
  std::uint64_t unapproved_calls() const { return violations[3]; }

  std::uint64_t over_budget() const { return violations[5]; }

  bool sound() const { return violation_count() == 0 && unreadable_runs == 0; }
};

/// Errors: store_unavailable; not_supported, of another version; not_found, where nothing was ever written.
Result<AuditReport> audit_store(const std::string& data_dir);

/// As a page for Prometheus, such as the text files that its node exporter collects.
std::string audit_metrics(const AuditReport& report);

}  // namespace ratchet
