#include "runtime/tools/schema/problem.hpp"

#include "runtime/pointer.hpp"

namespace ratchet::schema {

namespace {

/// Where `wanted` stands below `here`. As deep as a document may be: limits::json_depth_max.
std::optional<std::string> place_of(const boost::json::value& here, const boost::json::value* wanted) {
  if (&here == wanted) return "";
  const auto below = [&](std::string_view step, const boost::json::value& there) {
    auto rest = place_of(there, wanted);
    if (rest) *rest = pointer_to("", step) + *rest;
    return rest;
  };
  if (here.is_object())
    for (const auto& [key, member] : here.get_object())
      if (auto place = below(key, member)) return place;
  if (here.is_array())
    for (std::size_t i = 0; i < here.get_array().size(); ++i)
      if (auto place = below(std::to_string(i), here.get_array()[i])) return place;
  return std::nullopt;
}

}  // namespace

void Problem::set(const boost::json::value& at, ErrorCode code, std::string text) {
  if (at_) return;
  at_ = &at;
  code_ = code;
  text_ = std::move(text);
}

Error Problem::error(const boost::json::value& document) const {
  return {code_, text_, place_of(document, at_).value_or("")};
}

}  // namespace ratchet::schema
