#pragma once
// From the JSON of a schema to its graph. Three files: compile.cpp goes through the keywords, references.cpp
// finds what `$ref` names, in_place.cpp bounds what a check may cost.

#include <memory>

#include "runtime/tools/schema/node.hpp"

namespace ratchet::schema {

/// `document` is a schema of JSON Schema 2020-12 (vocabularies core, applicator, validation, unevaluated, and
/// annotations), or of draft-07 where `$schema` says so and both mean the same. It may describe any value.
/// Errors, with a pointer into it: invalid_definition (no schema, a `$ref` that leads nowhere or round in a
/// circle, more than a bound of limits.hpp); not_supported (another keyword or dialect, a reference to
/// another document, a pattern that RE2 cannot take).
Result<std::shared_ptr<const Graph>> compile(const boost::json::value& document);

}  // namespace ratchet::schema
