#include "runtime/tools/command_pattern.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/limits.hpp"
#include "runtime/tools/command_parts.hpp"
#include "runtime/tools/glob.hpp"

namespace ratchet {

namespace {

using Kind = CommandPart::Kind;

LineMatch match_word(std::string_view glob, const ShellWord& word) {
  if (word.known) return glob_matches(glob, word.text) ? LineMatch::yes : LineMatch::no;
  const std::string_view begin = word.text;
  const auto literal = glob.substr(0, glob.find('*'));
  if (!word.splits && glob.size() == literal.size() + 1 && begin.starts_with(literal)) return LineMatch::yes;
  const auto shared = std::min(literal.size(), begin.size());
  return literal.substr(0, shared) == begin.substr(0, shared) ? LineMatch::maybe : LineMatch::no;
}

}  // namespace

Result<CommandPattern> CommandPattern::parse(std::string_view text) {
  const auto invalid = [&](std::string_view why) {
    return fail(ErrorCode::invalid_definition, fmt::format("not a pattern of commands: {}", why));
  };
  if (text.empty() || text.size() > limits::command_pattern_bytes_max)
    return invalid(fmt::format("expected 1 to {} bytes", limits::command_pattern_bytes_max));
  CommandPattern pattern;
  if (text.starts_with("> ") || text.starts_with("< ")) {
    pattern.kind_ = text[0] == '>' ? Kind::write : Kind::read;
    text.remove_prefix(2);
  } else if (begins_with_assignment(text)) {
    pattern.kind_ = Kind::assignment;
  }
  if (const auto at = text.find_first_of("\"'\\`$;&|()<>\n\t"); at != std::string_view::npos)
    return invalid(
        fmt::format("it is the words of one command, without quotes and operators, not {}",
                    static_cast<int>(text[at]) < ' ' ? "a control character" : text.substr(at, 1)));
  while (true) {
    const auto space = std::min(text.find(' '), text.size());
    if (space == 0) return invalid("one space stands between two words, and none around them");
    pattern.words_.emplace_back(text.substr(0, space));
    if (space == text.size()) break;
    text.remove_prefix(space + 1);
  }
  if (pattern.kind_ != Kind::command) {
    if (pattern.words_.size() != 1) return invalid("a file or an assignment is one word");
  } else if (pattern.words_.back() == "*") {
    pattern.takes_more_ = true;
    if (pattern.words_.size() > 1) pattern.words_.pop_back();
  }
  return pattern;
}

LineMatch CommandPattern::match(const CommandPart& part, bool by_name) const {
  if (part.kind == Kind::unknown) return LineMatch::maybe;
  if (part.kind != kind_) return LineMatch::no;
  LineMatch result = LineMatch::yes;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (i == part.words.size()) return part.open_ended ? LineMatch::maybe : LineMatch::no;
    const ShellWord& word = part.words[i];
    LineMatch one = match_word(words_[i], word);
    if (i == 0 && by_name && one == LineMatch::no && word.known && kind_ == Kind::command)
      one = glob_matches(words_[i], program_name(word.text)) ? LineMatch::yes : LineMatch::no;
    if (one == LineMatch::no) return one;
    if (word.splits) return LineMatch::maybe;  // the words after it may stand anywhere
    if (one == LineMatch::maybe) result = one;
  }
  if (takes_more_) return result;
  const auto rest = part.words.begin() + static_cast<std::ptrdiff_t>(words_.size());
  const bool may_vanish =
      std::all_of(rest, part.words.end(), [](const ShellWord& word) { return word.splits; });
  if (!may_vanish) return LineMatch::no;
  return rest == part.words.end() && !part.open_ended ? result : LineMatch::maybe;
}

}  // namespace ratchet
