#pragma once
// Decides a recorded run once more, with what reached it taken from its own record, and compares what this
// build would have written with what was written, event by event. No model is called and no tool executed. So
// a change of the rules that would have changed old runs shows before it meets a live one.
//
// What reached the run is not in the journal as such; it follows from the first event of each append. Where
// several inputs may have caused it, each is tried. Ids and the jitter of retries are drawn anew each time
// and are not compared; hashes of prompts are, unless the record is without the reasoning that was in them,
// or an id was drawn in the same append that is in the prompt. Then estimates may differ by its letters.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/agent.hpp"
#include "runtime/event/codec.hpp"

namespace ratchet {

struct RecordedRun {
  RunId run_id;
  std::vector<Record> records;
  std::map<ArtifactId, std::string> artifacts;  ///< the bytes of those that its events refer to
  bool shortened = false;  ///< reasoning was taken out of replies: hashes of prompts are not compared
};

struct Divergence {
  std::uint64_t seq = 0;  ///< of the first event that would be another one
  std::string text;       ///< what was written, and what would be

  bool operator==(const Divergence&) const = default;
};

/// Nothing: this build writes the same. Errors: import_refused, where the record is no run; those of
/// `ToolBook::make`.
Result<std::optional<Divergence>> decide_again(std::shared_ptr<const AgentVersion> version,
                                               const RecordedRun& run);

}  // namespace ratchet
