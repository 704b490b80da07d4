#include "runtime/audit/auditor.hpp"

#include <fmt/format.h>

#include "runtime/audit/run_audit.hpp"

namespace ratchet {

std::string to_string(const Violation& violation) {
  return fmt::format("{} event {}: invariant {}: {}",
                     to_string(violation.run),
                     violation.seq,
                     violation.invariant,
                     violation.text);
}

Auditor::Auditor() = default;
Auditor::~Auditor() = default;

RunAudit& Auditor::audit_of(const RunId& run) {
  auto& audit = runs_[run];
  if (!audit) audit = std::make_unique<RunAudit>(run);
  return *audit;
}

void Auditor::add(const RunId& run, const Record& record) {
  audit_of(run).add(record);
}

void Auditor::expect(const RunId& run, std::uint64_t last_seq, const Hash& head) {
  audit_of(run).expect(last_seq, head);
}

std::vector<Violation> Auditor::findings() const {
  std::vector<Violation> all;
  for (const auto& [run, audit] : runs_) {
    const auto& found = audit->findings().all();
    all.insert(all.end(), found.begin(), found.end());
    for (const auto& [child, given] : audit->given()) {
      const auto below = runs_.find(child);
      if (below == runs_.end()) continue;
      const auto differences = below->second->compare(run, given);
      all.insert(all.end(), differences.begin(), differences.end());
    }
  }
  return all;
}

}  // namespace ratchet
