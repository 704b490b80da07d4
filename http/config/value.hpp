#pragma once
// A document as a tree of values that know where they stand, light enough for headers.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/result.hpp"

namespace ratchet::config {

struct Value {
  enum class Kind { null, boolean, number, text, list, map };

  Kind kind = Kind::null;
  std::string text;  ///< of a boolean, a number or a text
  std::vector<Value> items;
  std::vector<std::pair<std::string, Value>> entries;  ///< sorted by key
  std::string pointer;                                 ///< RFC 6901
};

/// Errors: invalid_json.
Result<Value> parse_value(std::string_view json);

/// An error at this place of the document.
[[nodiscard]] inline tl::unexpected<Error> fail_at(const Value& where, ErrorCode code, std::string what) {
  return fail(code, std::move(what), where.pointer);
}

}  // namespace ratchet::config
