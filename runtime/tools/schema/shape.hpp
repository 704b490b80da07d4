#pragma once
// What a schema tells of the values that fit it, without any value: which places they have for certain, and
// which it names at all.

#include <string>
#include <string_view>
#include <vector>

#include "runtime/tools/schema/node.hpp"

namespace ratchet::schema {

/// Whether every value that fits has something at the end of these steps (of a JSON pointer). Only what
/// `type`, `required`, `$ref` and allOf say for certain counts: a no may be wrong, a yes is not.
bool promises(const Node& node, const std::vector<std::string>& steps);

/// Whether the schema, or one that it applies to the same value, names each step: as a property, by a
/// pattern, or as an item of an array.
bool names(const Node& node, const std::vector<std::string>& steps);

/// The properties that these schemas name, sorted.
std::vector<std::string_view> property_names(const Node& node);

}  // namespace ratchet::schema
