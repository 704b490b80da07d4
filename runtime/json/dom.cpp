#include "runtime/json/dom.hpp"

#include <boost/json/parse.hpp>

#include "runtime/json/canonical.hpp"
#include "runtime/json/writer.hpp"
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

void append_json(std::string& out, const boost::json::value& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      out += "null";
      break;
    case boost::json::kind::bool_:
      append_json_bool(out, value.get_bool());
      break;
    case boost::json::kind::int64:
      append_json_number(out, value.get_int64());
      break;
    case boost::json::kind::uint64:
      append_json_number(out, value.get_uint64());
      break;
    case boost::json::kind::double_:
      append_json_number(out, value.get_double());
      break;
    case boost::json::kind::string:
      append_json_string(out, value.get_string());
      break;
    case boost::json::kind::array: {
      std::string_view before = "[";
      for (const auto& item : value.get_array()) {
        out += before;
        append_json(out, item);
        before = ",";
      }
      out += value.get_array().empty() ? "[]" : "]";
      break;
    }
    case boost::json::kind::object: {
      std::string_view before = "{";
      for (const auto& [key, member] : value.get_object()) {
        out += before;
        append_json_string(out, key);
        out += ':';
        append_json(out, member);
        before = ",";
      }
      out += value.get_object().empty() ? "{}" : "}";
      break;
    }
  }
}

const boost::json::value* child_at(const boost::json::value& value, std::string_view step) {
  if (value.is_object()) return value.get_object().if_contains(step);
  if (!value.is_array() || step.empty() || step.size() > 9) return nullptr;
  if (step.size() > 1 && step[0] == '0') return nullptr;
  std::size_t index = 0;
  for (const char c : step) {
    if (c < '0' || c > '9') return nullptr;
    index = index * 10 + static_cast<std::size_t>(c - '0');
  }
  return value.get_array().if_contains(index);
}

const boost::json::value* value_at(const boost::json::value& value, std::span<const std::string> steps) {
  const auto* at = &value;
  for (auto step = steps.begin(); at && step != steps.end(); ++step)
    at = child_at(*at, *step);
  return at;
}

std::string_view kind_name(const boost::json::value& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      return "null";
    case boost::json::kind::bool_:
      return "a boolean";
    case boost::json::kind::string:
      return "a string";
    case boost::json::kind::array:
      return "an array";
    case boost::json::kind::object:
      return "an object";
    default:
      return "a number";
  }
}

}  // namespace ratchet
