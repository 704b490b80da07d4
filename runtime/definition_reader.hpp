#pragma once
// Reads one JSON object of a definition (a tool, an agent, a configuration) field by field. Every field is
// typed and bounded; one that is not known is refused, and so is one that is known and not enforced yet.
//
// Readers of a document share one place for the first error. After it the getters go on and return their
// defaults, so that the code that reads has no branches for failure and looks at the error once, at the end.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/fwd.hpp>

#include "runtime/enums.hpp"
#include "runtime/result.hpp"

namespace ratchet {

/// A field that an object may have.
struct FieldRule {
  std::string_view name;
  std::string_view not_enforced = {};  ///< a sentence: why this version refuses it; empty: it is read
};

class ObjectReader {
 public:
  /// Refuses `value` if it is no object or has a field without a rule. All that is given must outlive the
  /// reader.
  ObjectReader(const boost::json::value& value,
               std::string pointer,
               std::span<const FieldRule> rules,
               std::optional<Error>& error);

  bool has(std::string_view field) const { return find(field) != nullptr; }

  // Each returns the field's value, or `fallback` where it is absent. Without a fallback the field is
  // required. Text is measured in bytes.
  std::string text(std::string_view field,
                   std::size_t bytes_min,
                   std::size_t bytes_max,
                   std::optional<std::string> fallback = std::nullopt);
  std::int64_t integer(std::string_view field,
                       std::int64_t min,
                       std::int64_t max,
                       std::optional<std::int64_t> fallback = std::nullopt);
  bool boolean(std::string_view field, std::optional<bool> fallback = std::nullopt);
  /// A number as it stands in JSON; empty where it is absent.
  std::string number_text(std::string_view field, double min, double max);
  /// Any value, as canonical JSON; empty where it is absent.
  std::string json(std::string_view field) const;

  template <class Enum>
  Enum choice(std::string_view field, std::optional<Enum> fallback = std::nullopt) {
    const auto word =
        text(field, 0, 64, fallback ? std::optional(std::string(name(*fallback))) : std::nullopt);
    if (const auto value = parse_enum<Enum>(word)) return *value;
    refuse_choice(field, word, enum_words(Enum{}));
    return fallback.value_or(Enum{});
  }

  /// The object in the field; an empty one where it is absent and not `required`.
  ObjectReader object(std::string_view field, std::span<const FieldRule> rules, bool required = false);
  /// The items of the array in the field; none where it is absent and not `required`.
  std::vector<const boost::json::value*> array(std::string_view field,
                                               std::size_t items_max,
                                               bool required = false);
  /// The same, each a text.
  std::vector<std::string> texts(std::string_view field, std::size_t items_max, std::size_t bytes_max);
  /// A reader of one of the items.
  ObjectReader item(const boost::json::value& value,
                    std::string_view field,
                    std::size_t index,
                    std::span<const FieldRule> rules);
  /// The members of the object in the field; none where it is absent.
  std::vector<std::pair<std::string_view, const boost::json::value*>> members(std::string_view field,
                                                                              std::size_t members_max);

  /// Keeps the error, if it is the first. `field` may be empty (the object itself) or have several steps
  /// (`allow/0`, already escaped).
  void refuse(ErrorCode code, std::string_view field, std::string why);

  void invalid(std::string_view field, std::string why) {
    refuse(ErrorCode::invalid_definition, field, std::move(why));
  }

  const boost::json::value* find(std::string_view field) const;

  bool failed() const { return error_.has_value(); }

 private:
  const boost::json::value* get(std::string_view field, bool required);
  void refuse_choice(std::string_view field, std::string_view word, std::string_view words);

  const boost::json::object* object_ = nullptr;  ///< none: it was refused, or is absent
  std::string pointer_;
  std::optional<Error>& error_;
};

}  // namespace ratchet
