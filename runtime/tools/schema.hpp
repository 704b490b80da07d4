#pragma once
// What a tool's arguments must look like: JSON Schema 2020-12 with its vocabularies core, applicator,
// validation and unevaluated, within one document. What is not checked is refused when the tool is
// registered, so that a schema never promises more than it holds. The work is done in schema/.
//
//   checked      all keywords of those vocabularies; `$ref`, `$anchor`, `$dynamicRef` within the document;
//                patterns with RE2
//   annotations  title, description, default, examples, deprecated, readOnly, writeOnly, format, content…,
//                $comment, and names that begin with x-
//   draft-07     is taken where `$schema` names it, but for what the two read differently
//   refused      references to other documents, `$id` below the root, `$vocabulary`, any other keyword

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/result.hpp"

namespace ratchet {

namespace schema {
struct Graph;
enum class Values;
}  // namespace schema

/// A compiled schema. Immutable and cheap to copy; used from any thread. A default one takes every object.
class ArgumentSchema {
 public:
  ArgumentSchema() = default;

  /// Compiles the schema of a tool's arguments: its root must be of type object. At most
  /// limits::schema_bytes_max. Errors: as schema::compile; with a pointer into the schema.
  static Result<ArgumentSchema> compile(std::string_view json);

  /// Nothing if the arguments fit. Otherwise what is wrong with them, worded for the model that sent them:
  /// JSON pointers and what was expected, the first three faults at most, at most
  /// limits::schema_message_bytes_max bytes. Arguments that would take too long to check do not fit.
  std::optional<std::string> check(std::string_view args_json) const;
  /// As `check`, but the message has no value of the arguments in it: for tools of which some are hidden.
  std::optional<std::string> check_unquoted(std::string_view args_json) const;

  /// Whether the schema promises that every object it accepts has a value at `pointer` (RFC 6901). A yes is
  /// certain; of what only anyOf, oneOf, if or a dependency would say there is none.
  bool promises(std::string_view pointer) const;
  /// Whether it, or a schema that it may apply, names every step of `pointer`, as a property or an item of an
  /// array: what it does not name is a slip of the pen.
  bool knows(std::string_view pointer) const;
  /// The properties that it names, sorted.
  std::vector<std::string> properties() const;

 private:
  explicit ArgumentSchema(std::shared_ptr<const schema::Graph> graph) : graph_(std::move(graph)) {}

  std::optional<std::string> check(std::string_view args_json, schema::Values values) const;

  std::shared_ptr<const schema::Graph> graph_;
};

}  // namespace ratchet
