#pragma once
// What people see of events and replies. Text that a model or a tool wrote is shown, never obeyed: control
// characters in it do not reach the terminal.

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>

namespace ratchet::cli {

class Fields;

struct Style {
  bool colour = false;  ///< standard output is a terminal and NO_COLOR is not set
  bool live = false;    ///< show a reply while it is being written
};

/// For this process: looks at standard output and NO_COLOR (no-color.org).
Style terminal_style();

/// `text` without control characters other than line feed and tab.
std::string harmless(std::string_view text);

/// Writes the events of one run, one line each, with what was said and returned indented below; those of runs
/// below it with the end of their id.
class EventPrinter {
 public:
  EventPrinter(std::ostream& out, Style style);

  /// `data` is the JSON of one event; of a type that is not known, it is shown as it is.
  void event(std::string_view type, const std::string& data);
  /// A preview of a reply (`model.delta`).
  void delta(const std::string& data);
  /// A preview of what a command writes (`tool.output`).
  void output(const std::string& data);

 private:
  void begin_live(const std::string& of);
  void live(std::string_view text);
  void end_live();
  void line(std::uint64_t seq, const std::string& type, const std::string& words);
  void below(std::string_view text, std::size_t bytes_max);

  std::ostream& out_;
  Style style_;
  std::map<std::string, std::map<std::string, std::string>> tools_;  // by run below and call id
  std::uint64_t shown_ = 0;                                          // bytes of the preview under way
  std::string live_;                                                 // of which reply or call it is
  bool line_begins_ = true;                                          // of it
};

/// A JSON value as indented lines of `key: value`.
void print_value(std::ostream& out, const std::string& json);

/// The rows of a list of runs, a line each.
void print_runs(std::ostream& out, const std::string& json);
/// The same of approvals.
void print_approvals(std::ostream& out, const std::string& json);
/// Two runs side by side: only what differs.
void print_diff(std::ostream& out, Style style, const std::string& json);

}  // namespace ratchet::cli
