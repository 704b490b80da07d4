// Any text as a command line: its parts are bounded, a pattern that was made of a known part matches it, and
// nothing that stands around a command hides it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/limits.hpp"
#include "runtime/tools/command_line.hpp"
#include "runtime/tools/command_pattern.hpp"

namespace ratchet {
namespace {

using Kind = CommandPart::Kind;

bool has_unknown_or(const std::vector<CommandPart>& parts, const CommandPart& wanted) {
  for (const CommandPart& part : parts)
    if (part.kind == Kind::unknown || part == wanted) return true;
  return false;
}

void check_part(const CommandPart& part) {
  RATCHET_ENSURE((part.kind == Kind::unknown) == part.words.empty(), "a part has no words");
  RATCHET_ENSURE((part.kind == Kind::unknown) != part.why.empty(), "nobody is told why");
  std::string text = part.kind == Kind::write ? ">" : part.kind == Kind::read ? "<" : "";
  for (const ShellWord& word : part.words) {
    if (!word.known) return;
    text.append(text.empty() ? "" : " ").append(word.text);
  }
  const auto pattern = CommandPattern::parse(text);
  if (pattern && pattern->kind() == part.kind)
    RATCHET_ENSURE(pattern->match(part, false) == (part.open_ended ? LineMatch::maybe : LineMatch::yes) ||
                       text.find('*') != std::string::npos || text.find(' ') != std::string::npos,
                   "a part does not match itself");
}

void run(std::string_view line) {
  const auto parts = command_parts(line);
  RATCHET_ENSURE(parts.size() <= limits::command_parts_max, "there are too many parts");
  for (const CommandPart& part : parts)
    check_part(part);
  if (line.size() > 4'096) return;
  const CommandPart hidden{Kind::command, {{"rm"}, {"-rf"}, {"x"}}, false, {}};
  const std::string text(line);
  for (const std::string& around : {"rm -rf x;" + text,
                                    "rm -rf x\n" + text,
                                    "(rm -rf x) && " + text,
                                    "echo $(rm -rf x) | " + text,
                                    "{ rm -rf x; };" + text})
    RATCHET_ENSURE(has_unknown_or(command_parts(around), hidden), "a command is hidden");
}

}  // namespace
}  // namespace ratchet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ratchet::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
