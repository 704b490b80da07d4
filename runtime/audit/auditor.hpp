#pragma once
// The auditor reads journals and says where they break a rule. It knows the rules from the design, not from
// the code that is meant to follow them: of the runtime it shares the event decoder only, and it never asks
// `decide`, `apply` or a `RunState`. Used by the simulator after each seed and by `ratchet audit`.
//
// What it cannot see in a journal it does not judge: whether a prompt is the one that was announced
// (context/inspect.hpp proves that) and how often an effect happened (the other side counts that).

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/event/codec.hpp"

namespace ratchet {

/// One broken rule. `invariant` is its number in docs/invariants.md, 1 to 8.
struct Violation {
  RunId run;
  std::uint64_t seq = 0;  ///< of the event that breaks it
  int invariant = 0;
  std::string text;

  bool operator==(const Violation&) const = default;
};

std::string to_string(const Violation& violation);

class RunAudit;

/// Takes any number of runs, interleaved as the store gives them. Memory: a few kilobytes a run.
class Auditor {
 public:
  Auditor();
  ~Auditor();
  Auditor(const Auditor&) = delete;
  Auditor& operator=(const Auditor&) = delete;

  /// The next record of `run`.
  void add(const RunId& run, const Record& record);
  /// What the run's row says after the last record.
  void expect(const RunId& run, std::uint64_t last_seq, const Hash& head);
  /// Everything found so far, in order of run and event, and where a parent and a sub-agent that were both
  /// added differ; of each run at most
  /// `limits::audit_violations_max`, because one mistake often breaks every rule after it.
  std::vector<Violation> findings() const;

 private:
  RunAudit& audit_of(const RunId& run);

  std::map<RunId, std::unique_ptr<RunAudit>> runs_;
};

}  // namespace ratchet
