#pragma once
// The canonical form of JSON (RFC 8785): one text for one value, so that a hash of it binds an approval, an
// idempotency key or a digest. Input is I-JSON (RFC 7493): duplicate keys are refused, and so are integers
// whose digits the canonical form would change (above 2^53 most of them). A surrogate
// without its partner becomes U+FFFD.

#include <string>
#include <string_view>

#include "runtime/result.hpp"

namespace ratchet {

/// Errors: invalid_json, with line, column and what was expected, worded so that a model can mend it. Nesting
/// deeper than limits::json_depth_max is an error. Linear in the text, apart from sorting.
Result<std::string> canonical_json(std::string_view text);
/// The same for a text that has to be an object.
Result<std::string> canonical_object(std::string_view text);

}  // namespace ratchet
