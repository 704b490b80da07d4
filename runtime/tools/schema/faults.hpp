#pragma once
// What is wrong with a value, worded for the model that wrote it: places as JSON pointers, what was expected,
// what was found. The first three faults are told, within limits::schema_message_bytes_max.

#include <string>
#include <string_view>
#include <vector>

#include "runtime/tools/schema/node.hpp"

namespace ratchet::schema {

/// Where in the value a check is; a list on the stack, spelled out for a fault only.
struct Place {
  const Place* parent = nullptr;  ///< null: the whole value
  std::string_view key = {};
  std::size_t index = 0;
  bool is_index = false;

  std::string pointer() const;
  std::size_t depth() const;
};

/// A piece of `text` of at most that many bytes, with … where it was cut.
std::string cut(std::string_view text, std::size_t bytes_max);

/// "a string or null", "one of 1, 2", "a value"; seen through references.
std::string expected(const Node& node);
/// How a fault tells of the value that is wrong: `the string "x"`, "1" – or "a string", "a number", where
/// what tools are called with is hidden from some who read the message.
enum class Values { quoted, named };

class Faults {
 public:
  explicit Faults(Values values) : values_(values) {}

  Values values() const { return values_; }

  std::string shown(const boost::json::value& given) const;

  /// The kind of value is wrong, or the value is none of a list: the first thing to be said of it.
  void add_wrong_value(const Place& place, std::string expected, const boost::json::value& given);
  void add(const Place& place, std::string_view text);
  /// That none of several forms fits: what they want, if they all want another value here, otherwise what is
  /// wrong with the one that comes nearest.
  void add_no_form(const Place& place, const std::vector<Faults>& forms, const boost::json::value& given);

  /// What the first fault is, without its place. There is one.
  std::string_view first_text() const { return faults_.front().text; }

  bool empty() const { return faults_.empty(); }

  /// More were found than are told.
  bool is_full() const;
  std::string message() const;

 private:
  struct Fault {
    std::size_t depth;
    std::string where, text;
    std::string expected;  // of a wrong value
  };

  void push(const Place& place, std::string text, std::string expected);
  /// How far a form is from the value at that depth: small is near.
  std::size_t distance(std::size_t depth) const;

  Values values_;
  std::vector<Fault> faults_;
};

}  // namespace ratchet::schema
