#pragma once
// What a shell command line does, as a list of parts that a rule can judge one by one: every command of it,
// however it is joined, nested, quoted or wrapped, every assignment and every file that it redirects.
//
// Read as bash and POSIX sh read it. This is no shell: what it cannot tell for certain (the name of a command
// in a variable, arithmetic, arrays, text piped into a shell) becomes a part of kind `unknown`, and nothing
// is ever left out. So a part list may say less than the line does, but never something else.

#include <string>
#include <string_view>
#include <vector>

namespace ratchet {

/// One word after quotes and escapes are gone.
struct ShellWord {
  std::string text;     ///< where not `known`: what it certainly begins with
  bool known = true;    ///< false: the rest is an expansion
  bool splits = false;  ///< an expansion without quotes: it may become no word, or several

  bool operator==(const ShellWord&) const = default;
};

struct CommandPart {
  enum class Kind {
    command,     ///< words: its name and arguments
    assignment,  ///< one word: NAME=value, alone or before a command
    write,       ///< one word: a file that is written, or a network path of the shell
    read,        ///< one word: a file that is read
    unknown,     ///< cannot be judged; `why` says it for people
  };

  Kind kind = Kind::unknown;
  std::vector<ShellWord> words;
  bool open_ended = false;  ///< more arguments follow that stand nowhere in the line (xargs)
  std::string why;

  bool operator==(const CommandPart&) const = default;
};

/// A wrapper (`sudo`, `env`, `xargs`, `bash -c` …) is a part of its own, and what it runs is another. Bounded
/// by limits::command_line_bytes_max, command_parts_max and command_depth_max: what lies beyond is one
/// `unknown` part. Empty only for a line that runs nothing.
std::vector<CommandPart> command_parts(std::string_view line);

}  // namespace ratchet
