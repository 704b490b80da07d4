#pragma once
// A value held against a schema. First without words, ending at the first fault, which is all that a valid
// call costs; only what does not fit is gone through a second time, for the message.
//
// check.cpp: what is common to all kinds of values, and what combines schemas; check_object.cpp and
// check_array.cpp: the rules of those two.

#include <optional>
#include <string>

#include "runtime/tools/schema/evaluated.hpp"
#include "runtime/tools/schema/faults.hpp"
#include "runtime/tools/schema/node.hpp"

namespace ratchet::schema {

/// Nothing if `given` fits. Otherwise what is wrong with it, as in `Faults::message`; also if to tell takes
/// more than limits::schema_steps_max steps, or schemas nested deeper than limits::schema_depth_max.
std::optional<std::string> check(const Graph& graph, const boost::json::value& given, Values values);

/// One value on its way through the schemas.
struct Subject {
  const boost::json::value& given;
  const Place& place;
  Evaluated* evaluated;  ///< null: nobody asks
  Faults* faults;        ///< null: the verdict is enough

  Subject as(Evaluated* by, Faults* to) const { return {given, place, by, to}; }
};

class Checker {
 public:
  explicit Checker(std::size_t steps) : steps_left_(steps) {}

  /// Whether it fits. With `faults` all rules are gone through, otherwise up to the first that is broken.
  bool fits(const Node& node, const Subject& subject);

  /// Whether it cost too much or went too deep. What `fits` said then means nothing.
  bool gave_up() const { return steps_left_ == 0 || too_deep_; }

 private:
  struct Verdict;

  bool rules(const Node& node, const Subject& subject);

  bool spend(std::size_t steps);
  bool fault(const Subject& subject, std::string_view text) const;
  bool count(std::size_t found, const SizeRange& range, std::string_view what, const Subject& subject) const;

  bool is_among(const Choices& choices, const Subject& subject);
  bool number(const NumberRules& rules, const Subject& subject) const;
  bool string(const StringRules& rules, const Subject& subject);

  bool array(const ArrayRules& rules, const Subject& subject);
  bool item(const Node& node, std::size_t index, const Subject& subject);
  bool contains(const ArrayRules& rules, const Subject& subject);
  bool unique(const Subject& subject);
  bool unevaluated_items(const ArrayRules& rules, const Subject& subject);

  bool object(const Node& node, const Subject& subject);
  bool required(const Node& node,
                const std::vector<std::string>& names,
                std::string_view why,
                const Subject& subject);
  bool members(const Node& node, const Subject& subject);
  bool member(const Node& node,
              std::string_view name,
              const boost::json::value& given,
              const Subject& subject);
  bool name_of_member(const Node& node, std::string_view name, const Subject& subject);
  bool unknown_member(const Node& node, std::string_view name, const Subject& subject) const;
  bool dependencies(const Node& node, const Subject& subject);
  bool unevaluated_members(const Node& node, const Subject& subject);

  /// A schema for the same value; what it has looked at counts if it fits.
  bool in_place(const Node& node, const Subject& subject);
  bool combinations(const InPlaceRules& rules, const Subject& subject);
  bool any(const InPlaceRules& rules, const Subject& subject);
  bool one(const InPlaceRules& rules, const Subject& subject);
  bool no_form(const std::vector<Child>& forms, const Subject& subject);

  std::size_t steps_left_;
  std::size_t depth_ = 0;
  bool too_deep_ = false;
};

/// Gathers the verdicts of several rules: `add` tells whether to go on to the next one.
struct Checker::Verdict {
  const Subject& subject;
  bool fits = true;

  bool add(bool rule_holds) {
    fits = fits && rule_holds;
    return fits || (subject.faults && !subject.faults->is_full());
  }
};

}  // namespace ratchet::schema
