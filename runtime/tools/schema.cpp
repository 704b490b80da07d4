#include "runtime/tools/schema.hpp"

#include <fmt/format.h>

#include "runtime/json/dom.hpp"
#include "runtime/limits.hpp"
#include "runtime/pointer.hpp"
#include "runtime/tools/schema/check.hpp"
#include "runtime/tools/schema/compile.hpp"
#include "runtime/tools/schema/shape.hpp"

namespace ratchet {

Result<ArgumentSchema> ArgumentSchema::compile(std::string_view json) {
  if (json.size() > limits::schema_bytes_max)
    return fail(
        ErrorCode::invalid_definition,
        fmt::format("the schema has {} bytes; at most {} are taken", json.size(), limits::schema_bytes_max));
  const auto document = parse_json(json);
  if (!document) return tl::unexpected(document.error());
  auto graph = schema::compile(*document);
  if (!graph) return tl::unexpected(graph.error());
  if ((*graph)->root().types != schema::type_object)
    return fail(
        ErrorCode::invalid_definition, "the schema of arguments has to say \"type\": \"object\"", "/type");
  return ArgumentSchema(std::move(*graph));
}

std::optional<std::string> ArgumentSchema::check(std::string_view args_json) const {
  return check(args_json, schema::Values::quoted);
}

std::optional<std::string> ArgumentSchema::check_unquoted(std::string_view args_json) const {
  return check(args_json, schema::Values::named);
}

std::optional<std::string> ArgumentSchema::check(std::string_view args_json, schema::Values values) const {
  const auto args = parse_json(args_json);
  if (!args) return "the arguments are not valid JSON: " + args.error().text;
  if (!args->is_object()) return fmt::format("the arguments: expected an object, found {}", kind_name(*args));
  return graph_ ? schema::check(*graph_, *args, values) : std::nullopt;
}

bool ArgumentSchema::promises(std::string_view pointer) const {
  const auto steps = split_pointer(pointer);
  return steps && (steps->empty() || (graph_ && schema::promises(graph_->root(), *steps)));
}

bool ArgumentSchema::knows(std::string_view pointer) const {
  const auto steps = split_pointer(pointer);
  return steps && graph_ && schema::names(graph_->root(), *steps);
}

std::vector<std::string> ArgumentSchema::properties() const {
  if (!graph_) return {};
  const auto names = schema::property_names(graph_->root());
  return {names.begin(), names.end()};
}

}  // namespace ratchet
