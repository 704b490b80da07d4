#pragma once
// How the built-in tools read their arguments. For .cpp files only.

#include <optional>
#include <span>
#include <string_view>

#include <boost/json/value.hpp>

#include "runtime/definition_reader.hpp"
#include "runtime/json/dom.hpp"
#include "runtime/tools/builtin.hpp"

namespace ratchet {

/// Calls `read` with a reader of the arguments. Errors: those of the reader; invalid_json.
template <class Read>
std::optional<Error> read_args(std::string_view args_json, std::span<const FieldRule> fields, Read&& read) {
  const auto args = parse_json(args_json);
  if (!args) return args.error();
  std::optional<Error> error;
  ObjectReader reader(*args, "", fields, error);
  read(reader);
  return error;
}

/// The answer to arguments that no schema has seen: the schema says the same, and is checked before.
inline ToolAnswer invalid_args(const Error& error) {
  return {ToolStatus::invalid, error.pointer.empty() ? error.text : error.pointer + ": " + error.text};
}

}  // namespace ratchet
