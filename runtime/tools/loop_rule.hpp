#pragma once
// The repeated-call rule. The same tool with the same arguments a second time in a row: its result carries a
// note that this was called before, and what it returned. A third time in a row: it is not executed and the
// run stops (`repeated_call`).
//
// "In a row" is meant per tool: calls of other tools in between do not break it, a call of the same tool with
// other arguments does. Successes count too. The rule is a fold over the run's events and knows nothing of
// the context, so a compaction does not reset it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/hash.hpp"

namespace ratchet {

class LoopRule {
 public:
  enum class Word { run, run_with_note, stop };

  /// How many times in a row this call came before.
  std::uint32_t repeats(std::string_view tool, const Hash& args_hash) const;

  /// What to do with a call that came `repeats` times before. Tools whose manifest says `repeatable` always
  /// run.
  static Word judge(std::uint32_t repeats, bool repeatable);

  /// Folds `tool.requested`, whatever its verdict was: a denied call that is repeated is a loop too.
  void called(std::string_view tool, const Hash& args_hash);
  /// Folds `tool.result`. Ignored where the tool has been called with other arguments since.
  void returned(std::string_view tool, const Hash& args_hash, std::string_view result);

  /// What the model is told with the result of a call that has been folded, before its `returned` is. Empty
  /// for the first in a row. Not for tools that are `repeatable`.
  std::string note(std::string_view tool, const Hash& args_hash) const;

  bool operator==(const LoopRule&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "tools", self.tools_);
  }

 private:
  struct Last {
    std::string tool;
    Hash args_hash;
    std::uint32_t count = 0;
    bool has_returned = false;
    std::string head;  ///< the first bytes of what it returned

    bool operator==(const Last&) const = default;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
      visit(1, "tool", self.tool);
      visit(2, "args_hash", self.args_hash);
      visit(3, "count", self.count);
      visit(4, "has_returned", self.has_returned);
      visit(5, "head", self.head);
    }
  };

  const Last* find(std::string_view tool, const Hash& args_hash) const;

  /// The last call of each tool, the most recent at the end. Beyond limits::loop_tools_max names (a model can
  /// invent them) the oldest is forgotten.
  std::vector<Last> tools_;
};

}  // namespace ratchet
