#include "http/config/value.hpp"

#include "runtime/json/dom.hpp"
#include "runtime/json/writer.hpp"

namespace ratchet::config {

namespace {

/// RFC 6901, section 3.
std::string escaped(std::string_view key) {
  std::string out;
  for (const char c : key)
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  return out;
}

Value convert(const boost::json::value& json, std::string pointer) {
  Value out;
  out.pointer = std::move(pointer);
  switch (json.kind()) {
    case boost::json::kind::null:
      break;
    case boost::json::kind::bool_:
      out.kind = Value::Kind::boolean;
      out.text = json.get_bool() ? "true" : "false";
      break;
    case boost::json::kind::string:
      out.kind = Value::Kind::text;
      out.text = std::string(json.get_string());
      break;
    case boost::json::kind::array:
      out.kind = Value::Kind::list;
      for (const auto& item : json.get_array())
        out.items.push_back(convert(item, out.pointer + "/" + std::to_string(out.items.size())));
      break;
    case boost::json::kind::object:
      out.kind = Value::Kind::map;
      for (const auto& [key, value] : json.get_object())
        out.entries.emplace_back(key, convert(value, out.pointer + "/" + escaped(key)));
      break;
    case boost::json::kind::int64:
      out.kind = Value::Kind::number;
      append_json_number(out.text, json.get_int64());
      break;
    case boost::json::kind::uint64:
      out.kind = Value::Kind::number;
      append_json_number(out.text, json.get_uint64());
      break;
    case boost::json::kind::double_:
      out.kind = Value::Kind::number;
      append_json_number(out.text, json.get_double());
      break;
  }
  return out;
}

}  // namespace

Result<Value> parse_value(std::string_view json) {
  return parse_json(json).map([](const auto& value) { return convert(value, ""); });
}

}  // namespace ratchet::config
