#pragma once
// The part of TOML 1.0 that rules files use: tables, arrays of tables, strings of all four kinds, integers,
// floats, booleans and arrays. Dates, dotted keys and inline tables are refused. For .cpp files only.

#include <string_view>

#include <boost/json/fwd.hpp>

#include "runtime/result.hpp"

namespace ratchet {

/// The document as a JSON object. Errors: invalid_request, with the line.
Result<boost::json::value> parse_toml(std::string_view text);

}  // namespace ratchet
