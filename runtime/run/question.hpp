#pragma once
// What is asked outside about a call of a run, of a tool or of the model.

#include <memory>
#include <string>

#include "runtime/run/row.hpp"
#include "runtime/tools/book.hpp"
#include "runtime/tools/facts.hpp"

namespace ratchet {

/// The question about one call, put to the hooks of its version. The caller says whether the decision point
/// is asked too. `args`: canonical; the tool is one of the version's.
JudgeQuestion question_of(const std::shared_ptr<const ToolBook>& tools,
                          const RunRow& row,
                          std::string call_id,
                          std::string_view tool,
                          std::string args);

/// The question about the model call of `step`, put to the hooks at `pre_model`.
JudgeQuestion question_of(const std::shared_ptr<const ToolBook>& tools,
                          const RunRow& row,
                          std::uint32_t step);

}  // namespace ratchet
