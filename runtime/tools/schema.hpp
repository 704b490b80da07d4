#pragma once
// What a tool's arguments must look like: a bounded subset of JSON Schema 2020-12. A keyword outside of it is
// refused when the tool is registered, so that a schema never promises what is not checked.
//
//   checked      type, properties, required, additionalProperties, items, enum, const, minimum, maximum,
//                exclusiveMinimum, exclusiveMaximum, minLength, maxLength, minItems, maxItems, pattern (RE2),
//                and true and false as schemas
//   annotations  title, description, default, examples, format, $schema, $comment, deprecated

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/result.hpp"

namespace ratchet {

struct SchemaNode;

/// A compiled schema. Immutable and cheap to copy; used from any thread. A default one takes every object.
class ArgumentSchema {
 public:
  ArgumentSchema() = default;

  /// Compiles the schema of a tool's arguments: its root must be of type object. At most
  /// limits::schema_bytes_max. Errors: not_supported (a keyword, a pattern RE2 does not take),
  /// invalid_definition; with a pointer into the schema.
  static Result<ArgumentSchema> compile(std::string_view json);

  /// Nothing if the arguments fit. Otherwise what is wrong with them, worded for the model that sent them:
  /// JSON pointers and what was expected, the first three faults at most, at most
  /// limits::schema_message_bytes_max bytes. Arguments that would take too long to check do not fit.
  std::optional<std::string> check(std::string_view args_json) const;

  /// Whether the schema promises that every object it accepts has a value at `pointer` (RFC 6901).
  bool promises(std::string_view pointer) const;
  /// Whether it names every step of `pointer`, as a property or an item of an array: what it does not name is
  /// a slip of the pen.
  bool knows(std::string_view pointer) const;
  /// The properties that it names, sorted.
  std::vector<std::string> properties() const;

 private:
  explicit ArgumentSchema(std::shared_ptr<const SchemaNode> root) : root_(std::move(root)) {}

  std::shared_ptr<const SchemaNode> root_;
};

}  // namespace ratchet
