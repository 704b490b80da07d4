#include "runtime/json/dom.hpp"

#include <boost/json/parse.hpp>

#include "runtime/json/canonical.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

Result<boost::json::value> parse_json(std::string_view text) {
  // Boost.JSON keeps the last of duplicate keys and knows no line numbers, so the strict reader goes first.
  auto canonical = canonical_json(text);
  if (!canonical) return tl::unexpected(canonical.error());
  boost::json::parse_options options;
  options.max_depth = limits::json_depth_max;
  boost::system::error_code error;
  auto value = boost::json::parse(*canonical, error, {}, options);
  if (error) return fail(ErrorCode::invalid_json, error.message());
  return value;
}

}  // namespace ratchet
