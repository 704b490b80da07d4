#pragma once
// The grammar of shell command lines (POSIX.1-2017, Shell Command Language 2.2 to 2.10, and what bash adds),
// as far as it decides which commands there are. For command_line.cpp only.

#include <string>
#include <string_view>
#include <vector>

#include "runtime/tools/command_parts.hpp"

namespace ratchet {

/// One text, read once from its beginning. Where it cannot go on it says so with one unknown part and stops:
/// the parts before it stay.
class ShellParser {
 public:
  ShellParser(std::string_view text, PartCollector& parts) : text_(text), parts_(parts) {}

  void parse();

 private:
  struct HereDocument {
    std::string delimiter;
    bool quoted = false;       ///< nothing in it is expanded
    bool strips_tabs = false;  ///< `<<-`
  };

  // --- the text (shell_parser.cpp)
  bool at_end() const { return failed_ || at_ >= text_.size(); }

  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  bool sees(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  bool take(std::string_view what);
  void give_up(std::string_view why);
  void skip_blanks();
  void skip_lines();
  /// The reserved word that stands here, if one does; it is not taken.
  std::string_view reserved_word() const;
  bool take_reserved(std::string_view word);
  void expect(std::string_view word);

  // --- commands (shell_parser.cpp)
  void list();
  void pipeline();
  void command();
  bool compound();
  void if_clause();
  void loop();
  void for_clause();
  void case_clause();
  void function();
  void simple_command();
  void redirections();
  bool redirection();
  void redirect_to(std::string_view operation);
  void here_document(bool strips_tabs);
  void here_document_bodies();

  // --- words (shell_words.cpp)
  bool at_word() const;
  ShellWord word();
  void brace(ShellWord& word);
  void single_quotes(ShellWord& word);
  void double_quotes(ShellWord& word);
  void dollar(ShellWord& word, bool quoted);
  void parameter(ShellWord& word, bool quoted);
  void backquotes(ShellWord& word, bool quoted);
  void substitution();
  void here_document_text(std::string_view body);

  std::string_view text_;
  PartCollector& parts_;
  std::size_t at_ = 0;
  bool failed_ = false;
  std::vector<HereDocument> pending_;  ///< announced in this line; their texts follow it
};

}  // namespace ratchet
