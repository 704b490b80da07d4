#pragma once
// The patterns of an operator `command`: which parts of a command line (command_line.hpp) a rule speaks of.
//
//   git log *      a command: words, each a glob; a last `*` alone stands for any further words, none too
//   > build/*      writing these files, `>>` too        < *.csv   reading these
//   CI=*           an assignment
//   *              every command; not what it writes, and no assignment

#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"
#include "runtime/tools/command_line.hpp"

namespace ratchet {

/// Where a word is an expansion, nobody can tell: `maybe`.
enum class LineMatch { no, maybe, yes };

class CommandPattern {
 public:
  /// At most limits::command_pattern_bytes_max. Errors: invalid_definition: quotes, operators and expansions,
  /// which no word of a part has.
  static Result<CommandPattern> parse(std::string_view text);

  CommandPart::Kind kind() const { return kind_; }

  /// `by_name`: a program is meant wherever it lies, `/bin/rm` by `rm` (for rules that restrict). Otherwise
  /// its name has to be spelled as in the pattern, so that nobody lends it to a file of their own.
  LineMatch match(const CommandPart& part, bool by_name) const;

 private:
  CommandPart::Kind kind_ = CommandPart::Kind::command;
  std::vector<std::string> words_;
  bool takes_more_ = false;  ///< it ended with a `*` alone
};

}  // namespace ratchet
