#pragma once
// Writes a JSON object or array by appending to a string. It is closed when the writer goes.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/json/writer.hpp"
#include "runtime/money.hpp"
#include "runtime/time.hpp"

namespace ratchet {

/// `out` is borrowed; while a nested writer is open, the outer one is not used.
class JsonObject {
 public:
  explicit JsonObject(std::string& out) : out_(out) { out_ += '{'; }

  ~JsonObject() { out_ += '}'; }

  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;

  JsonObject& text(std::string_view name, std::string_view value) {
    append_json_string(key(name), value);
    return *this;
  }

  template <class Integer>
  JsonObject& number(std::string_view name, Integer value) {
    append_json_number(key(name), static_cast<std::int64_t>(value));
    return *this;
  }

  JsonObject& boolean(std::string_view name, bool value) {
    append_json_bool(key(name), value);
    return *this;
  }

  JsonObject& null(std::string_view name) { return raw(name, "null"); }

  JsonObject& raw(std::string_view name, std::string_view json) {
    key(name) += json;
    return *this;
  }

  JsonObject& time(std::string_view name, Timestamp at) { return text(name, to_string(at)); }

  JsonObject& money(std::string_view name, Usd amount) { return text(name, to_string(amount)); }

  /// The text of `value`, or null.
  template <class T, class ToText>
  JsonObject& optional(std::string_view name, const std::optional<T>& value, ToText to_text) {
    return value ? text(name, to_text(*value)) : null(name);
  }

  /// Where the value of the member `name` is to be appended.
  std::string& key(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    append_json_string(out_, name);
    out_ += ':';
    return out_;
  }

 private:
  std::string& out_;
  bool first_ = true;
};

/// The object that `fill(JsonObject&)` writes.
template <class Fill>
std::string json_object(Fill fill) {
  std::string out;
  {
    JsonObject object(out);
    fill(object);
  }
  return out;
}

/// Appends `[…]`: `write` appends one item each.
template <class Items, class Write>
void append_json_array(std::string& out, const Items& items, Write write) {
  out += '[';
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += ',';
    first = false;
    write(out, item);
  }
  out += ']';
}

/// Appends `["…", …]`: `word` gives the text of one item each.
template <class Items, class Word>
void append_json_texts(std::string& out, const Items& items, Word word) {
  append_json_array(
      out, items, [&](std::string& to, const auto& item) { append_json_string(to, word(item)); });
}

template <class Items>
void append_json_texts(std::string& out, const Items& texts) {
  append_json_texts(out, texts, [](const std::string& text) -> std::string_view { return text; });
}

}  // namespace ratchet
