#pragma once
// A few words over simdjson's on-demand reader, for the two .cpp files of this folder that read replies;
// nobody else includes this. A wrong type reads as "absent": compatible servers leave out, null and mistype
// fields at will. What is structurally broken is an error of the loop that meets it.

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <simdjson.h>

namespace ratchet::ondemand {

using Value = simdjson::ondemand::value;
using Object = simdjson::ondemand::object;
using Array = simdjson::ondemand::array;

/// Calls `read(object)` with the root of `json`, which gets room for the padding that simdjson wants; `read`
/// has to visit all members, so that what follows the object is noticed. Returns what is wrong with the JSON,
/// empty if nothing was met.
template <class Read>
std::string_view with_root(std::string& json, Read&& read) {
  // One parser a thread; a large document gets its own, so that its buffers do not stay.
  constexpr std::size_t kept_bytes_max = 1u << 20;
  thread_local simdjson::ondemand::parser kept;
  std::optional<simdjson::ondemand::parser> own;
  auto& parser = json.size() <= kept_bytes_max ? kept : own.emplace();

  json.reserve(json.size() + simdjson::SIMDJSON_PADDING);
  simdjson::ondemand::document document;
  auto error = parser.iterate(json.data(), json.size(), json.capacity()).get(document);
  Object root;
  if (!error) error = document.get_object().get(root);
  if (!error) error = read(root);
  const char* rest = nullptr;
  if (!error && !document.current_location().get(rest)) error = simdjson::TRAILING_CONTENT;
  return error ? std::string_view(simdjson::error_message(error)) : std::string_view{};
}

/// Calls `read(key, value)` for each member. Errors of the JSON, and of `read`, end it.
template <class Read>
simdjson::error_code each_member(Object object, Read&& read) {
  for (auto member : object) {
    simdjson::ondemand::field field;
    if (const auto error = std::move(member).get(field)) return error;
    std::string_view key;
    if (const auto error = field.unescaped_key().get(key)) return error;
    if (const simdjson::error_code error = read(key, field.value())) return error;
  }
  return simdjson::SUCCESS;
}

/// The same; a value that is no object has no members.
template <class Read>
simdjson::error_code each_member(Value value, Read&& read) {
  Object object;
  const auto error = value.get_object().get(object);
  if (error) return error == simdjson::INCORRECT_TYPE ? simdjson::SUCCESS : error;
  return each_member(object, read);
}

/// Calls `read(object)` for each element of an array that is an object. A value that is no array is empty.
template <class Read>
simdjson::error_code each_object(Value value, Read&& read) {
  Array array;
  const auto wrong = value.get_array().get(array);
  if (wrong) return wrong == simdjson::INCORRECT_TYPE ? simdjson::SUCCESS : wrong;
  for (auto element : array) {
    Value item;
    if (const auto error = std::move(element).get(item)) return error;
    Object object;
    simdjson::error_code error = item.get_object().get(object);
    if (error == simdjson::INCORRECT_TYPE) continue;
    if (!error) error = read(object);
    if (error) return error;
  }
  return simdjson::SUCCESS;
}

inline bool is(Value& value, simdjson::ondemand::json_type type) {
  simdjson::ondemand::json_type found{};
  return !value.type().get(found) && found == type;
}

/// The inside of a string, escapes and all; nothing if the value is no string. Lives as long as the JSON.
inline std::optional<std::string_view> escaped(Value& value) {
  if (!is(value, simdjson::ondemand::json_type::string)) return std::nullopt;
  auto token = value.raw_json_token();  // quotes and the space behind them included
  return token.substr(1, token.rfind('"') - 1);
}

inline bool is_null(Value& value) {
  return is(value, simdjson::ondemand::json_type::null);
}

/// A count: an integer from 0 to 10^12, written with or without a fraction.
inline std::int64_t count_or(Value& value, std::int64_t otherwise) {
  constexpr double count_max = 1e12;
  double number = -1;
  if (value.get_double().get(number) || number < 0 || number > count_max || number != std::floor(number))
    return otherwise;
  return static_cast<std::int64_t>(number);
}

/// The bytes of an object as they stand. Comes after its members were read, or instead.
inline simdjson::error_code raw_json(Object& object, std::string& out) {
  std::string_view raw;
  if (const auto error = object.raw_json().get(raw)) return error;
  out = raw.substr(0, raw.rfind('}') + 1);
  return simdjson::SUCCESS;
}

/// The bytes of any value as they stand.
inline simdjson::error_code raw_value(Value& value, std::string& out) {
  Object object;
  auto error = value.get_object().get(object);
  if (error != simdjson::INCORRECT_TYPE) return error ? error : raw_json(object, out);
  Array array;
  std::string_view raw;
  error = value.get_array().get(array);
  if (error && error != simdjson::INCORRECT_TYPE) return error;
  if (error) {
    raw = value.raw_json_token();
    out = raw.substr(0, raw.find_last_not_of(" \t\r\n") + 1);
    return simdjson::SUCCESS;
  }
  if (const auto broken = array.raw_json().get(raw)) return broken;
  out = raw.substr(0, raw.rfind(']') + 1);
  return simdjson::SUCCESS;
}

}  // namespace ratchet::ondemand
