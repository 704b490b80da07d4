#pragma once
// What running commands write, as a client may see it.

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "runtime/redact/redactor.hpp"
#include "runtime/redact/stream_redactor.hpp"
#include "runtime/tools/output_preview.hpp"

namespace ratchet {

/// Of one run, through one stream. Not shared between threads.
class OutputView {
 public:
  /// What is shown of the next piece. `redactor` null: every byte. Otherwise an output is shown from its
  /// beginning on and without a hole, or not at all: what is missing may be half of a secret. Offsets are
  /// then those of what was shown.
  std::optional<ToolOutput> shown(const ToolOutput& piece, const std::shared_ptr<const Redactor>& redactor);

  /// No call of before goes on.
  void clear() { calls_.clear(); }

 private:
  struct Call {
    std::uint32_t attempt = 0;
    std::uint64_t seen_bytes = 0;
    bool broken = false;
    StreamRedactor redactor;
  };

  std::map<std::string, Call> calls_;
};

}  // namespace ratchet
