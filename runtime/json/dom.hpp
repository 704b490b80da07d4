#pragma once
// A JSON text as a tree, for the cold paths (definitions, schemas, request bodies). Only .cpp files include
// this: Boost.JSON is heavy. Hot input is read with simdjson.

#include <span>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "runtime/result.hpp"

namespace ratchet {

/// The value of `text`, under the rules of canonical.hpp: no duplicate keys, no integer that loses digits,
/// depth at most limits::json_depth_max, keys sorted, 1.0 the same as 1.
/// Errors: invalid_json, with line and column.
Result<boost::json::value> parse_json(std::string_view text);

/// Appends the value as compact JSON, members in their order: of what `parse_json` gave, the canonical form.
void append_json(std::string& out, const boost::json::value& value);

/// The value one step of a JSON pointer further down; null if there is none.
const boost::json::value* child_at(const boost::json::value& value, std::string_view step);
/// The value at the steps of a pointer (pointer.hpp); null if there is none.
const boost::json::value* value_at(const boost::json::value& value, std::span<const std::string> steps);

/// "an object", "a string", "null" …, for messages.
std::string_view kind_name(const boost::json::value& value);

}  // namespace ratchet
