#include "runtime/tools/command_line.hpp"

#include "runtime/limits.hpp"
#include "runtime/tools/command_parts.hpp"
#include "runtime/tools/shell_parser.hpp"

namespace ratchet {

void PartCollector::push(CommandPart part) {
  if (full_) return;
  if (parts_.size() + 1 == limits::command_parts_max) {
    full_ = true;
    part = {CommandPart::Kind::unknown, {}, false, "the command line has too many parts"};
  }
  parts_.push_back(std::move(part));
}

void PartCollector::add(CommandPart::Kind kind, ShellWord word) {
  push({kind, {std::move(word)}, false, {}});
}

void PartCollector::unknown(std::string_view why) {
  push({CommandPart::Kind::unknown, {}, false, std::string(why)});
}

void PartCollector::command(std::vector<ShellWord> words, bool open_ended) {
  if (!words.front().known) return unknown("the name of a command is an expansion");
  push({CommandPart::Kind::command, words, open_ended, {}});
  if (!enter()) return;
  unwrap_command(words, open_ended, *this);
  leave();
}

void PartCollector::line(std::string_view text) {
  if (!enter()) return;
  ShellParser(text, *this).parse();
  leave();
}

bool PartCollector::enter() {
  if (full_) return false;
  if (depth_ == limits::command_depth_max) {
    unknown("the command line is nested too deep");
    return false;
  }
  ++depth_;
  return true;
}

bool begins_with_assignment(std::string_view text) {
  std::size_t i = 0;
  const auto letter = [&](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  while (i < text.size() && (letter(text[i]) || (i > 0 && text[i] >= '0' && text[i] <= '9')))
    ++i;
  if (i == 0) return false;
  if (i < text.size() && text[i] == '+') ++i;
  return i < text.size() && text[i] == '=';
}

std::string_view program_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

std::vector<CommandPart> command_parts(std::string_view line) {
  PartCollector parts;
  if (line.size() > limits::command_line_bytes_max)
    parts.unknown("the command line is too long");
  else
    parts.line(line);
  return parts.take();
}

}  // namespace ratchet
