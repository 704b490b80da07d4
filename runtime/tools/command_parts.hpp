#pragma once
// Where the parts of a command line are gathered, and what a command runs in turn. Between command_line.cpp,
// shell_parser.cpp and command_wrappers.cpp; others include command_line.hpp.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/tools/command_line.hpp"

namespace ratchet {

class PartCollector {
 public:
  void add(CommandPart::Kind kind, ShellWord word);
  /// Something that cannot be judged.
  void unknown(std::string_view why);
  /// A command, and whatever it runs if it is a wrapper.
  void command(std::vector<ShellWord> words, bool open_ended = false);
  /// A text that a shell would read.
  void line(std::string_view text);

  /// Whether one more level of nesting fits. Each true is to be answered with a `leave`.
  bool enter();

  void leave() { --depth_; }

  std::vector<CommandPart> take() { return std::move(parts_); }

 private:
  void push(CommandPart part);

  std::vector<CommandPart> parts_;
  std::size_t depth_ = 0;
  bool full_ = false;
};

/// Hands to `parts` what the command runs, if its name is that of a wrapper or a shell.
void unwrap_command(const std::vector<ShellWord>& words, bool open_ended, PartCollector& parts);

/// Whether the text begins with `NAME=` or `NAME+=`.
bool begins_with_assignment(std::string_view text);

/// The last step of a path: how a program is called, wherever it lies.
std::string_view program_name(std::string_view path);

}  // namespace ratchet
