#pragma once
// What a policy rule asks of a call's arguments: for each JSON pointer, operators that all must hold.
//
//   when: {"/recipients/*": {suffix: "@example.com"}, "/amount": {lt: 100}}
//
//   equals   the value itself, any JSON         in        one of these values
//   prefix, suffix, regex (RE2, anywhere in the text unless anchored)   of texts only
//   lt, gt   of numbers only                    absent    true: there is no value; false: there is one
//   command  the parts of a shell command line  (command_pattern.hpp, judged in policy.cpp)
//
// A value that is missing, or of another type than the operator is for, never matches. `*` as a step stands
// for every element of an array: each has to match, and an array without elements does not.

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <boost/json/fwd.hpp>

#include "runtime/result.hpp"
#include "runtime/tools/command_pattern.hpp"

namespace ratchet {

/// Compiled, immutable and cheap to copy; used from any thread. A default one asks nothing.
class Conditions {
 public:
  /// Bounded by limits::policy_pointers_max and policy_values_max. Errors: invalid_definition, with a pointer
  /// into `when`.
  static Result<Conditions> compile(const boost::json::value& when);

  bool empty() const { return !compiled_; }

  /// Whether everything but `command` holds of the arguments.
  bool hold(const boost::json::value& args) const;

  /// The pointer of the operator `command`; nothing, if there is none. At most one pointer has it.
  std::optional<std::string_view> command_pointer() const;
  /// The strings at that pointer; null for a value that is none.
  std::vector<const boost::json::string*> command_lines(const boost::json::value& args) const;
  /// Whether one of its patterns speaks of the part; `by_name` as for CommandPattern::match.
  LineMatch match(const CommandPart& part, bool by_name) const;

  struct Compiled;  ///< for conditions.cpp only

 private:
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace ratchet
