#pragma once
// The person of the mixed workload: looks for approvals that wait, and approves each.

#include <cstdint>
#include <map>
#include <string>

#include "bench/load/testbed.hpp"

namespace ratchet::bench {

class Approver {
 public:
  /// `testbed` must outlive it, and its loop must not run after the approver is gone.
  explicit Approver(Testbed& testbed) : testbed_(testbed) {}

  /// Looks now, and again a while after each look, until `stop`.
  void look();

  void stop() { looking_ = false; }

  std::uint64_t approved() const { return approved_; }

  /// Answers that were no approval, by code.
  const std::map<std::string, std::uint64_t>& troubles() const { return troubles_; }

 private:
  void look_again();
  void approve(const std::string& run_id, const std::string& approval_id);

  Testbed& testbed_;
  bool looking_ = true;
  std::uint64_t approved_ = 0;
  std::map<std::string, std::uint64_t> troubles_;
};

}  // namespace ratchet::bench
