// Any text as JSON: what is accepted has one canonical form, and another reader understands it the same.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "runtime/json/canonical.hpp"
#include "runtime/limits.hpp"
#include "runtime/result.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ratchet;
  const auto canonical = canonical_json({reinterpret_cast<const char*>(data), size});
  if (!canonical) return 0;
  RATCHET_ENSURE(canonical_json(*canonical) == *canonical, "the canonical form has another canonical form");
  boost::json::parse_options options;
  options.max_depth = limits::json_depth_max;
  boost::system::error_code error;
  boost::json::parse(*canonical, error, {}, options);
  RATCHET_ENSURE(!error, "another reader refuses the canonical form");
  return 0;
}
