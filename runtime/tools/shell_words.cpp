// The words of ShellParser: quotes, escapes and expansions (POSIX.1-2017, Shell Command Language 2.2
// and 2.6).

#include <algorithm>

#include "runtime/tools/shell_parser.hpp"

namespace ratchet {

namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_special_parameter(char c) {
  return c != '\0' && std::string_view("@*#?$!-").find(c) != std::string_view::npos;
}

/// Only the part before the first expansion is told of a word.
void append(ShellWord& word, std::string_view text) {
  if (word.known) word.text += text;
}

void expand(ShellWord& word, bool splits) {
  word.known = false;
  word.splits = word.splits || splits;
}

}  // namespace

/// Whether a word begins here: anything but an operator.
bool ShellParser::at_word() const {
  if (at_end()) return false;
  const char c = peek();
  if (c == '<' || c == '>') return peek(1) == '(';
  return std::string_view(" \t\n;&|()").find(c) == std::string_view::npos;
}

ShellWord ShellParser::word() {
  ShellWord word;
  const std::size_t value = begins_with_assignment(text_.substr(at_)) ? text_.find('=', at_) + 1 : at_;
  std::size_t bracket = std::string::npos;  // where in word.text an open one stands
  while (!failed_ && at_word()) {
    const char c = peek();
    if (c == '<' || c == '>') {
      at_ += 2;
      expand(word, false);
      substitution();
    } else if (c == '\'') {
      single_quotes(word);
    } else if (c == '"') {
      ++at_;
      double_quotes(word);
    } else if (c == '$') {
      dollar(word, false);
    } else if (c == '`') {
      backquotes(word, false);
    } else if (c == '{') {
      brace(word);
    } else if (c == '\\') {
      append(word, text_.substr(at_ + 1, peek(1) == '\n' ? 0 : 1));
      if (at_ + 1 == text_.size()) append(word, "\\");
      at_ += at_ + 1 < text_.size() ? 2 : 1;
    } else {
      if (c == '*' || c == '?' || (c == '~' && at_ == value)) expand(word, c != '~');
      if (c == '[' && !word.known) expand(word, true);
      if (c == '[' && word.known && bracket == std::string::npos) bracket = word.text.size();
      if (c == ']' && bracket != std::string::npos) {
        if (word.known) word.text.resize(bracket);
        expand(word, true);
      }
      append(word, {&c, 1});
      ++at_;
    }
  }
  return word;
}

/// `{a,b}` and `{1..3}` become several words. `{}` does not, and is what find and xargs replace.
void ShellParser::brace(ShellWord& word) {
  const std::size_t end = std::min(text_.find_first_of(" \t\n;&|()<>", at_), text_.size());
  const auto rest = text_.substr(at_, end - at_);
  if (rest.starts_with("{}") && rest.find_first_of(",.{\"'\\`$", 1) == std::string_view::npos) {
    append(word, "{}");
    at_ += 2;
  } else {
    expand(word, true);
    ++at_;
  }
}

void ShellParser::single_quotes(ShellWord& word) {
  const auto close = text_.find('\'', at_ + 1);
  if (close == std::string_view::npos) return give_up("a quote is not closed");
  append(word, text_.substr(at_ + 1, close - at_ - 1));
  at_ = close + 1;
}

void ShellParser::double_quotes(ShellWord& word) {
  while (!at_end()) {
    const char c = peek();
    if (c == '"') {
      ++at_;
      return;
    }
    if (c == '$') {
      dollar(word, true);
    } else if (c == '`') {
      backquotes(word, true);
    } else if (c == '\\' && at_ + 1 < text_.size()) {
      const char next = peek(1);
      const bool escapes = std::string_view("$`\"\\").find(next) != std::string_view::npos;
      if (next != '\n') append(word, text_.substr(at_ + (escapes ? 1 : 0), escapes ? 1 : 2));
      at_ += 2;
    } else {
      append(word, {&c, 1});
      ++at_;
    }
  }
  give_up("a quote is not closed");
}

void ShellParser::dollar(ShellWord& word, bool quoted) {
  const char next = peek(1);
  if (next == '[' || text_.substr(at_).starts_with("$((")) return give_up("arithmetic is not judged");
  if (next == '(') {
    at_ += 2;
    expand(word, !quoted);
    substitution();
  } else if (next == '{') {
    at_ += 2;
    parameter(word, quoted);
  } else if (next == '\'' && !quoted) {
    const auto close = text_.find('\'', at_ + 2);
    // Shells do not agree on where a text with escaped quotes ends.
    if (close == std::string_view::npos || text_[close - 1] == '\\')
      return give_up("a quote of the form $'…'");
    expand(word, false);
    at_ = close + 1;
  } else if (next == '"' && !quoted) {
    expand(word, false);
    ++at_;
  } else if (is_special_parameter(next) || (next >= '0' && next <= '9')) {
    expand(word, !quoted || next == '@');
    at_ += 2;
  } else if (is_name_char(next)) {
    expand(word, !quoted);
    for (++at_; is_name_char(peek());)
      ++at_;
  } else {
    append(word, "$");
    ++at_;
  }
}

/// `${NAME}`, `${#NAME}`, `${NAME[@]}`. The other forms can evaluate what a variable holds.
void ShellParser::parameter(ShellWord& word, bool quoted) {
  take("#");
  if (is_special_parameter(peek()) && peek(1) == '}')
    ++at_;
  else
    while (is_name_char(peek()))
      ++at_;
  const bool all = take("[@]");
  if (!all) take("[*]");
  if (!take("}")) return give_up("an expansion that is not judged");
  expand(word, !quoted || all || text_[at_ - 2] == '@');
}

/// Up to the closing `)`, which is taken.
void ShellParser::substitution() {
  if (failed_) return;
  if (!pending_.empty()) return give_up("a substitution between a here-document and its text");
  if (!parts_.enter()) return give_up("the command line is nested too deep");
  list();
  parts_.leave();
  if (failed_) return;
  if (!pending_.empty() || !take(")")) give_up("the command line does not parse");
}

void ShellParser::backquotes(ShellWord& word, bool quoted) {
  std::string inside;
  for (++at_; !at_end() && peek() != '`'; ++at_) {
    const bool escapes =
        peek() == '\\' && (peek(1) == '`' || peek(1) == '\\' || peek(1) == '$' || (quoted && peek(1) == '"'));
    if (escapes) ++at_;
    inside += peek();
  }
  if (!take("`")) return give_up("a quote is not closed");
  expand(word, !quoted);
  parts_.line(inside);
}

/// The text of a here-document whose end was not quoted: substitutions in it run.
void ShellParser::here_document_text(std::string_view body) {
  ShellParser inner(body, parts_);
  ShellWord ignored;
  while (!inner.at_end()) {
    if (inner.peek() == '\\')
      inner.at_ += 2;
    else if (inner.peek() == '$')
      inner.dollar(ignored, true);
    else if (inner.peek() == '`')
      inner.backquotes(ignored, false);
    else
      ++inner.at_;
  }
  failed_ = failed_ || inner.failed_;
}

}  // namespace ratchet
