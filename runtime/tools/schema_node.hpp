#pragma once
// One schema, compiled: what schema_compile.cpp writes and schema_check.cpp reads. For those two only.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/value.hpp>

#include "runtime/tools/pattern.hpp"

namespace ratchet {

enum SchemaType : unsigned {
  type_null = 1,
  type_boolean = 2,
  type_object = 4,
  type_array = 8,
  type_number = 16,
  type_string = 32,
  type_integer = 64
};

/// The words of JSON Schema, with those for people.
struct SchemaTypeName {
  SchemaType type;
  std::string_view word, phrase;
};

inline constexpr SchemaTypeName schema_type_names[] = {{type_null, "null", "null"},
                                                       {type_boolean, "boolean", "a boolean"},
                                                       {type_object, "object", "an object"},
                                                       {type_array, "array", "an array"},
                                                       {type_number, "number", "a number"},
                                                       {type_string, "string", "a string"},
                                                       {type_integer, "integer", "an integer"}};

/// Exact for every number of JSON as we read it: integers of 64 bits and doubles.
using SchemaNumber = long double;

struct SchemaNode {
  using Child = std::shared_ptr<const SchemaNode>;

  bool never = false;  ///< the schema `false`
  unsigned types = 0;  ///< of SchemaType; 0: any

  std::vector<std::pair<std::string, Child>> properties;  ///< sorted by name
  std::vector<std::string> required;                      ///< sorted
  Child additional;                                       ///< null: anything goes
  Child items;

  std::optional<boost::json::array> choices;  ///< enum, or const as an enum of one
  std::string choices_text;                   ///< for people, the whole list

  std::optional<SchemaNumber> minimum, maximum, exclusive_minimum, exclusive_maximum;
  std::optional<std::uint64_t> min_length, max_length, min_items, max_items;

  std::unique_ptr<re2::RE2> pattern;

  const SchemaNode* find(std::string_view property) const;
};

inline SchemaNumber schema_number(const boost::json::value& value) {
  if (value.is_int64()) return static_cast<SchemaNumber>(value.get_int64());
  if (value.is_uint64()) return static_cast<SchemaNumber>(value.get_uint64());
  return static_cast<SchemaNumber>(value.get_double());
}

}  // namespace ratchet
