#include "runtime/tools/loop_rule.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

/// A model can invent names of any length; a real one has at most 64 bytes.
std::string_view shortened(std::string_view tool) {
  return tool.substr(0, 64);
}

}  // namespace

const LoopRule::Last* LoopRule::find(std::string_view tool, const Hash& args_hash) const {
  const auto last = std::find_if(
      tools_.begin(), tools_.end(), [&](const Last& each) { return each.tool == shortened(tool); });
  return last != tools_.end() && last->args_hash == args_hash ? &*last : nullptr;
}

std::uint32_t LoopRule::repeats(std::string_view tool, const Hash& args_hash) const {
  const Last* last = find(tool, args_hash);
  return last ? last->count : 0;
}

LoopRule::Word LoopRule::judge(std::uint32_t repeats, bool repeatable) {
  if (repeatable || repeats == 0) return Word::run;
  return repeats < limits::identical_calls_max ? Word::run_with_note : Word::stop;
}

void LoopRule::called(std::string_view tool, const Hash& args_hash) {
  const auto at = std::find_if(
      tools_.begin(), tools_.end(), [&](const Last& each) { return each.tool == shortened(tool); });
  Last last;
  if (at != tools_.end()) {
    if (at->args_hash == args_hash) last = std::move(*at);
    tools_.erase(at);
  } else if (tools_.size() == limits::loop_tools_max) {
    tools_.erase(tools_.begin());
  }
  last.tool = shortened(tool);
  last.args_hash = args_hash;
  ++last.count;
  tools_.push_back(std::move(last));
}

void LoopRule::returned(std::string_view tool, const Hash& args_hash, std::string_view result) {
  for (Last& last : tools_) {
    if (last.tool != shortened(tool) || last.args_hash != args_hash) continue;
    last.has_returned = true;
    last.head = result.substr(0, utf8_cut(result, limits::loop_head_bytes_max));
    if (last.head.size() < result.size()) last.head += "…";
  }
}

std::string LoopRule::note(std::string_view tool, const Hash& args_hash) const {
  const Last* last = find(tool, args_hash);
  if (!last || last->count < 2) return {};
  std::string note = fmt::format(
      "Note: {} has been called {} times in a row with the same arguments. The same call once more would not "
      "be "
      "executed and would end the run: use what you have, or call differently.",
      last->tool,
      last->count);
  if (last->has_returned) note += " Before, it returned: " + last->head;
  return note;
}

}  // namespace ratchet
