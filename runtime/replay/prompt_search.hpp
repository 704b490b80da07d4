#pragma once
// Which runs sent a prompt, and at which step.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/journal.hpp"

namespace ratchet {

struct PromptUse {
  RunId run_id;
  std::uint32_t step = 0;

  bool operator==(const PromptUse&) const = default;
};

struct PromptQuery {
  std::string team;
  Hash prompt_hash;
  std::optional<PromptUse> after;  ///< where the page before ended
  std::size_t limit = 50;
  std::size_t rows_max = 0;  ///< to be looked at; 0: limits::prompt_search_rows_max
};

struct PromptPage {
  std::vector<PromptUse> uses;    ///< the newest run first, its steps in order, each once
  std::optional<PromptUse> next;  ///< go on after it; none: there is no more
};

/// Looks at the rows of the team's runs and reads the events of those that may have it. A page may end before
/// its limit because enough rows were looked at. What a replay took over was not sent by it; a damaged run is
/// passed over. Errors: store_unavailable, and others of reading a run.
Result<PromptPage> find_prompt(JournalReader& journal, const PromptQuery& query);

}  // namespace ratchet
