#pragma once
// Readers of single values and of sections, for the table of keys. Each error says what was found and what is
// expected, and carries the pointer to it.

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "http/config/parse.hpp"
#include "http/config/value.hpp"
#include "runtime/enums.hpp"
#include "runtime/money.hpp"

namespace ratchet::config {

using Done = Result<void>;

/// One key of a section `T`: everything there is to know about it.
template <class T>
struct Key {
  std::string_view name;
  /// The default as YAML. Empty: the key must be given.
  std::string_view standard;
  std::string_view meaning;
  Done (*read)(T& section, const Value& value);
  /// Lists the keys below this one, where it is a section.
  void (*inner)(std::string_view path, std::vector<ConfigKey>& out) = nullptr;
};

Done read_text(const Value& value, std::string& out);
/// Leaves `out` as it is where the value is null.
Done read_optional_text(const Value& value, std::string& out);
/// Takes what `is_name` takes.
Done read_name(const Value& value, std::string& out);
Done read_integer(const Value& value, std::int64_t min, std::int64_t max, std::int64_t& out);
Done read_boolean(const Value& value, bool& out);
/// Takes a decimal number, in quotes or not, without going through a float.
Done read_usd(const Value& value, Usd& out);
/// Succeeds only on `standard`, the value that leaves off what this version does not do. Errors:
/// not_supported.
Done read_off(const Value& value, std::string_view standard, std::string_view what);

/// What is wrong with a text that `is_name` does not take.
std::string not_a_name(std::string_view text);

/// The word of `offered` that `text` was probably meant to be: "; did you mean 'x'?", or nothing.
std::string suggestion(std::string_view text, const std::vector<std::string_view>& offered);

template <class Enum>
Done read_word(const Value& value, Enum& out) {
  std::string text;
  if (auto done = read_text(value, text); !done) return done;
  if (const auto word = parse_enum<Enum>(text)) {
    out = *word;
    return {};
  }
  std::string offered;
  for (std::uint64_t i = 0; enum_at<Enum>(i); ++i)
    offered.append(i == 0 ? "" : ", ").append(name(*enum_at<Enum>(i)));
  return fail_at(value, ErrorCode::invalid_request, "'" + text + "' is none of: " + offered);
}

/// Calls `read_item(item)` for each item of a list.
Done read_list(const Value& value, const std::function<Done(const Value&)>& read_item);

/// Reads a list of words; one that stands there twice counts once.
template <class Enum>
Done read_words(const Value& value, std::vector<Enum>& out) {
  return read_list(value, [&](const Value& item) -> Done {
    Enum word{};
    if (auto done = read_word(item, word); !done) return done;
    if (std::find(out.begin(), out.end(), word) == out.end()) out.push_back(word);
    return {};
  });
}

/// Calls `read_entry(key, value)` for each entry of a map; null counts as an empty one.
Done read_map(const Value& value, const std::function<Done(const std::string&, const Value&)>& read_entry);

/// Reads a section by its table: unknown keys and missing ones are errors.
template <class T>
Done read_section(const Value& value, std::type_identity_t<std::span<const Key<T>>> keys, T& out) {
  auto done = read_map(value, [&](const std::string& name, const Value& inner) -> Done {
    std::vector<std::string_view> offered;
    for (const auto& known : keys) {
      if (known.name == name) return known.read(out, inner);
      offered.push_back(known.name);
    }
    return fail_at(
        inner, ErrorCode::unknown_field, "there is no key '" + name + "' here" + suggestion(name, offered));
  });
  if (!done) return done;
  for (const auto& known : keys) {
    const auto is_it = [&](const auto& entry) { return entry.first == known.name; };
    if (known.standard.empty() && std::none_of(value.entries.begin(), value.entries.end(), is_it))
      return fail_at(value, ErrorCode::invalid_request, "'" + std::string(known.name) + "' is missing here");
  }
  return {};
}

template <class T>
void list_keys(std::string_view path,
               std::type_identity_t<std::span<const Key<T>>> keys,
               std::vector<ConfigKey>& out) {
  for (const auto& key : keys) {
    const auto full = std::string(path) + std::string(key.name);
    out.push_back({full, std::string(key.standard), std::string(key.meaning)});
    if (key.inner != nullptr) key.inner(full, out);
  }
}

}  // namespace ratchet::config
