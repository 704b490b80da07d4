#pragma once
// A schema, compiled: what compile.cpp writes and the other files of this folder read. A node is small, since
// most schemas say one thing; rules for one kind of value stand together and are absent where there are none.
// Nodes point to each other by `$ref`, in circles too, so the graph owns them all.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/value.hpp>

#include "runtime/tools/schema/ecma_pattern.hpp"
#include "runtime/tools/schema/values.hpp"

namespace ratchet::schema {

enum Type : unsigned {
  type_null = 1,
  type_boolean = 2,
  type_object = 4,
  type_array = 8,
  type_number = 16,
  type_string = 32,
  type_integer = 64
};

/// The words of JSON Schema, with those for people.
struct TypeName {
  Type type;
  std::string_view word, phrase;
};

inline constexpr TypeName type_names[] = {{type_null, "null", "null"},
                                          {type_boolean, "boolean", "a boolean"},
                                          {type_object, "object", "an object"},
                                          {type_array, "array", "an array"},
                                          {type_number, "number", "a number"},
                                          {type_string, "string", "a string"},
                                          {type_integer, "integer", "an integer"}};

struct Node;
using Child = const Node*;  ///< null where the keyword is absent

/// `enum`, or `const` as an enum of one.
struct Choices {
  std::vector<boost::json::value> values;  ///< sorted by compare_values
  std::string text;                        ///< for people: the whole list, in its own order
};

struct SizeRange {
  std::optional<std::uint64_t> min, max;
};

struct NumberRules {
  std::optional<Number> minimum, maximum, exclusive_minimum, exclusive_maximum;
  std::optional<Decimal> multiple_of;
};

struct StringRules {
  SizeRange length;
  std::optional<Pattern> pattern;
};

struct ArrayRules {
  std::vector<Child> prefix;
  Child items = nullptr, contains = nullptr, unevaluated = nullptr;
  SizeRange size, contained;
  bool unique = false;
};

struct ObjectRules {
  /// What has to hold of an object that has the property: dependentRequired and dependentSchemas.
  struct Dependency {
    std::string property;
    std::vector<std::string> required;
    Child schema = nullptr;
  };

  std::vector<std::pair<std::string, Child>> properties;  ///< sorted by name
  std::vector<std::string> required;                      ///< sorted
  std::vector<std::pair<Pattern, Child>> patterns;
  std::vector<Dependency> dependencies;
  Child additional = nullptr, names = nullptr, unevaluated = nullptr;
  SizeRange size;

  Child find(std::string_view property) const;
};

/// Schemas for the same value.
struct InPlaceRules {
  Child ref = nullptr, dynamic_ref = nullptr;
  std::vector<Child> all, any, one;
  Child none = nullptr;                                                     ///< `not`
  std::string none_text;                                                    ///< for people, cut
  Child condition = nullptr, consequence = nullptr, alternative = nullptr;  ///< if, then, else
};

struct Node {
  bool never = false;  ///< the schema `false`
  unsigned types = 0;  ///< of Type; 0: any
  std::unique_ptr<Choices> choices, constant;
  std::unique_ptr<NumberRules> number;
  std::unique_ptr<StringRules> string;
  std::unique_ptr<ArrayRules> array;
  std::unique_ptr<ObjectRules> object;
  std::unique_ptr<InPlaceRules> in_place;
};

struct Graph {
  std::deque<Node> nodes;  ///< the first one is the root

  const Node& root() const { return nodes.front(); }
};

}  // namespace ratchet::schema
