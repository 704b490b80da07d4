#pragma once
// What an audit of one run has found so far, and the event it is looking at. Private to the auditor.

#include <string>
#include <utility>
#include <vector>

#include "runtime/audit/auditor.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

class Findings {
 public:
  explicit Findings(const RunId& run) : run_(run) {}

  /// Complaints that follow are about this event.
  void look_at(std::uint64_t seq) { seq_ = seq; }

  void complain(int invariant, std::string text) {
    if (violations_.size() < limits::audit_violations_max)
      violations_.push_back({run_, seq_, invariant, std::move(text)});
  }

  /// Complains unless `holds`.
  void require(bool holds, int invariant, std::string text) {
    if (!holds) complain(invariant, std::move(text));
  }

  const RunId& run() const { return run_; }

  const std::vector<Violation>& all() const { return violations_; }

 private:
  RunId run_;
  std::uint64_t seq_ = 0;
  std::vector<Violation> violations_;
};

}  // namespace ratchet
