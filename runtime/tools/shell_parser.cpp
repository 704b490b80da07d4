#include "runtime/tools/shell_parser.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace ratchet {

namespace {

constexpr std::string_view reserved_words[] = {
    "!",  "{",    "}",    "if",   "then", "else",   "elif", "fi",   "while",  "until",   "for",
    "do", "done", "case", "esac", "in",   "select", "[[",   "time", "coproc", "function"};
constexpr std::string_view terminators[] = {"}", "then", "else", "elif", "fi", "do", "done", "esac", "in"};

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool ends_word(char c) {
  return std::string_view(" \t\n;&|()<>").find(c) != std::string_view::npos;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

void ShellParser::parse() {
  if (text_.find('\0') != std::string_view::npos) return give_up("a NUL in the command line");
  // A shell joins lines before it looks for words: in the middle of one, `$\` and `(` on the next line are
  // `$(`.
  for (auto at = text_.find("\\\n"); at != std::string_view::npos; at = text_.find("\\\n", at + 1))
    if (at > 0 && std::string_view(" \t\n").find(text_[at - 1]) == std::string_view::npos)
      return give_up("a word goes on in the next line");
  list();
  if (!failed_ && at_ < text_.size()) give_up("the command line does not parse");
}

bool ShellParser::take(std::string_view what) {
  if (!sees(what)) return false;
  at_ += what.size();
  return true;
}

void ShellParser::give_up(std::string_view why) {
  if (failed_) return;
  failed_ = true;
  parts_.unknown(why);
}

void ShellParser::skip_blanks() {
  while (!at_end() && (peek() == ' ' || peek() == '\t' || sees("\\\n")))
    at_ += peek() == '\\' ? 2 : 1;
}

/// Blanks, ends of lines with the here-documents that follow them, and comments.
void ShellParser::skip_lines() {
  while (true) {
    skip_blanks();
    if (at_end()) return;
    if (peek() == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (take("\n")) {
      here_document_bodies();
    } else {
      return;
    }
  }
}

std::string_view ShellParser::reserved_word() const {
  std::size_t end = at_;
  while (end < text_.size() && !ends_word(text_[end]))
    ++end;
  const auto word = text_.substr(at_, end - at_);
  return is_one_of(word, reserved_words) ? word : std::string_view();
}

bool ShellParser::take_reserved(std::string_view word) {
  skip_lines();
  if (at_end() || reserved_word() != word) return false;
  at_ += word.size();
  return true;
}

void ShellParser::expect(std::string_view word) {
  if (!failed_ && !take_reserved(word)) give_up("the command line does not parse");
}

/// Commands up to something that ends a list: the end, `)`, `;;` or a reserved word that belongs to what is
/// around. The caller looks at which it was.
void ShellParser::list() {
  while (true) {
    skip_lines();
    if (at_end() || peek() == ')' || sees(";;") || sees(";&")) return;
    if (is_one_of(reserved_word(), terminators)) return;
    pipeline();
    skip_blanks();
    if (at_end() || sees(";;") || sees(";&")) return;
    if (take("&&") || take("||") || take("|&") || take("|") || take(";") || take("&")) continue;
    if (peek() == '\n' || peek() == '#' || peek() == ')') continue;
    return give_up("the command line does not parse");
  }
}

/// What may stand before a command. Which command a pipe or a list joins makes no difference here.
void ShellParser::pipeline() {
  while (!at_end()) {
    const std::size_t before = at_;
    if (take_reserved("!")) continue;
    if (!take_reserved("time")) break;
    // The shell's own `time` runs whole pipelines; before a simple command it is judged as a wrapper is.
    skip_blanks();
    if (at_end() || (peek() != '(' && reserved_word().empty())) {
      at_ = before;
      return simple_command();
    }
    parts_.command({ShellWord{"time"}});
  }
  command();
}

void ShellParser::command() {
  if (at_end() || !parts_.enter()) {
    failed_ = failed_ || at_ < text_.size();
    return;
  }
  if (compound())
    redirections();
  else if (!failed_)
    simple_command();
  parts_.leave();
}

/// False: what stands here is no compound command.
bool ShellParser::compound() {
  if (sees("((")) {
    give_up("arithmetic is not judged");
    return true;
  }
  if (peek() == '(') {
    ++at_;
    substitution();
    return true;
  }
  const auto word = reserved_word();
  if (word.empty() || word == "time" || word == "!") return false;
  at_ += word.size();
  if (word == "{") {
    list();
    expect("}");
  } else if (word == "if") {
    if_clause();
  } else if (word == "while" || word == "until") {
    list();
    loop();
  } else if (word == "for") {
    for_clause();
  } else if (word == "case") {
    case_clause();
  } else if (word == "function") {
    skip_blanks();
    if (!at_word()) give_up("the command line does not parse");
    if (!failed_) (void)this->word();
    skip_blanks();
    if (take("(")) {
      skip_blanks();
      if (!take(")")) give_up("the command line does not parse");
    }
    function();
  } else {
    give_up("the command line does not parse, or has a construct that is not judged");
  }
  return true;
}

void ShellParser::if_clause() {
  list();
  expect("then");
  list();
  while (!failed_ && take_reserved("elif")) {
    list();
    expect("then");
    list();
  }
  if (!failed_ && take_reserved("else")) list();
  expect("fi");
}

void ShellParser::loop() {
  expect("do");
  list();
  expect("done");
}

void ShellParser::for_clause() {
  skip_blanks();
  if (!at_word()) return give_up("the command line does not parse");
  ShellWord name = word();
  if (failed_) return;
  if (!name.known) return give_up("the name of a variable is an expansion");
  parts_.add(CommandPart::Kind::assignment, {name.text + "=", false, false});
  if (take_reserved("in"))
    for (skip_blanks(); !failed_ && at_word(); skip_blanks())
      (void)word();
  skip_blanks();
  take(";");
  loop();
}

void ShellParser::case_clause() {
  skip_blanks();
  if (!at_word()) return give_up("the command line does not parse");
  (void)word();
  expect("in");
  while (!failed_ && !take_reserved("esac")) {
    take("(");
    do {
      skip_blanks();
      if (!at_word()) return give_up("the command line does not parse");
      (void)word();
      skip_blanks();
    } while (!failed_ && take("|"));
    if (!failed_ && !take(")")) return give_up("the command line does not parse");
    list();
    if (failed_ || take(";;&") || take(";;") || take(";&")) continue;
    return expect("esac");
  }
}

/// What it runs when it is called is judged where it stands; what its name meant before is not, and neither
/// are its arguments.
void ShellParser::function() {
  if (failed_) return;
  parts_.unknown("a function is defined");
  skip_lines();
  command();
}

void ShellParser::simple_command() {
  std::vector<ShellWord> words;
  bool ended_for_sh = false;
  while (true) {
    skip_blanks();
    if (at_end()) break;
    const bool redirects_both = sees("&>");
    if (redirection()) {
      ended_for_sh = ended_for_sh || redirects_both;
      continue;
    }
    if (!at_word() || peek() == '#') break;
    // To bash `a &>f b` is one command, to sh it is `a &` and `>f b`.
    if (ended_for_sh) return give_up("words after &>");
    const bool assigns = words.empty() && begins_with_assignment(text_.substr(at_));
    const std::size_t from = at_;
    ShellWord next = word();
    if (failed_) return;
    if (assigns && peek() == '(' && text_[at_ - 1] == '=') return give_up("arrays are not judged");
    if (assigns) {
      next.splits = false;
      parts_.add(CommandPart::Kind::assignment, std::move(next));
      continue;
    }
    words.push_back(std::move(next));
    if (words.size() > 1 || from == at_) continue;
    skip_blanks();
    if (peek() != '(') continue;
    ++at_;
    skip_blanks();
    if (!take(")")) return give_up("the command line does not parse");
    return function();
  }
  if (!words.empty() && !failed_) parts_.command(std::move(words));
}

void ShellParser::redirections() {
  do
    skip_blanks();
  while (!at_end() && redirection());
}

/// Takes the redirection that stands here; false: none does.
bool ShellParser::redirection() {
  std::size_t digits = 0;
  while (is_digit(peek(digits)))
    ++digits;
  const char first = peek(digits), second = peek(digits + 1);
  const bool both = digits == 0 && first == '&' && second == '>';
  if (!both && first != '<' && first != '>') return false;
  if (!both && second == '(') return false;  // a process substitution: part of a word
  at_ += digits;
  if (take("<<<")) {
    redirect_to("<<<");
  } else if (take("<<")) {
    here_document(take("-"));
  } else {
    for (const std::string_view operation : {"&>>", "&>", "<>", "<&", "<", ">>", ">&", ">|", ">"})
      if (take(operation)) {
        redirect_to(operation);
        break;
      }
  }
  return true;
}

void ShellParser::redirect_to(std::string_view operation) {
  skip_blanks();
  if (at_end() || !at_word()) return give_up("the command line does not parse");
  ShellWord target = word();
  if (failed_ || operation == "<<<") return;
  const auto is = [&](std::string_view text) { return target.known && target.text == text; };
  if (operation.ends_with('&')) {
    const bool copies = target.known && !target.text.empty() &&
                        target.text.find_first_not_of("0123456789-") == std::string::npos;
    if (copies) return;
  }
  target.splits = false;
  // /dev/tcp/host/port and /dev/udp/… are connections, whichever way they are opened.
  const std::string_view begin = target.text;
  const bool may_connect = target.known
                               ? begin.starts_with("/dev/tcp/") || begin.starts_with("/dev/udp/")
                               : std::string_view("/dev/").starts_with(begin) || begin.starts_with("/dev/");
  const bool reads = (operation == "<" || operation == "<&") && !may_connect;
  if (!reads && (is("/dev/null") || is("/dev/stdout") || is("/dev/stderr"))) return;
  parts_.add(reads ? CommandPart::Kind::read : CommandPart::Kind::write, std::move(target));
}

void ShellParser::here_document(bool strips_tabs) {
  skip_blanks();
  HereDocument document;
  document.strips_tabs = strips_tabs;
  const std::size_t from = at_;
  while (!at_end() && !ends_word(peek())) {
    const char c = text_[at_++];
    if (c == '\'' || c == '"') {
      const auto close = text_.find(c, at_);
      if (close == std::string_view::npos) return give_up("a quote is not closed");
      document.delimiter += text_.substr(at_, close - at_);
      at_ = close + 1;
      document.quoted = true;
    } else if (c == '\\' && !at_end()) {
      document.delimiter += text_[at_++];
      document.quoted = true;
    } else {
      document.delimiter += c;
    }
  }
  if (from == at_ || document.delimiter.find_first_of("$`\\\n") != std::string::npos)
    return give_up("the end of a here-document is not plain");
  pending_.push_back(std::move(document));
}

/// At the beginning of the line after the one that announced them.
void ShellParser::here_document_bodies() {
  const auto documents = std::exchange(pending_, {});
  for (const HereDocument& document : documents) {
    const std::size_t from = at_;
    std::size_t to = text_.size();
    while (at_ < text_.size()) {
      const std::size_t line_at = at_;
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      std::string_view line = text_.substr(at_, end - at_);
      at_ = std::min(end + 1, text_.size());
      if (document.strips_tabs) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
      if (line == document.delimiter) {
        to = line_at;
        break;
      }
      if (!document.quoted && line.ends_with('\\')) return give_up("a here-document joins lines");
    }
    if (!document.quoted) here_document_text(text_.substr(from, to - from));
  }
}

}  // namespace ratchet
