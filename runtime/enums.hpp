#pragma once
// Enumerations that stand in the journal by number and on the wire by name. Values count from 0 in the order
// of the list; a list only ever grows at its end, so that old records keep their meaning.

#include <cstdint>
#include <optional>
#include <string_view>

namespace ratchet {

namespace detail {

/// The `index`-th of the comma-separated words in `list`; empty past the end.
constexpr std::string_view word_at(std::string_view list, std::size_t index) {
  for (; index > 0; --index) {
    const auto comma = list.find(',');
    if (comma == std::string_view::npos) return {};
    list.remove_prefix(comma + 1);
  }
  list = list.substr(0, list.find(','));
  while (!list.empty() && list.front() == ' ')
    list.remove_prefix(1);
  while (!list.empty() && list.back() == ' ')
    list.remove_suffix(1);
  // C++ keywords and macros cannot be enumerators: those are spelled with a trailing underscore.
  if (list.ends_with('_')) list.remove_suffix(1);
  return list;
}

}  // namespace detail

/// RATCHET_ENUM(Colour, red, green) defines the enumeration and what `name` and `parse_enum` need.
#define RATCHET_ENUM(Enum, ...)                   \
  enum class Enum : std::uint8_t { __VA_ARGS__ }; \
  constexpr std::string_view enum_words(Enum) {   \
    return #__VA_ARGS__;                          \
  }

template <class Enum>
  requires requires(Enum value) { enum_words(value); }
constexpr std::string_view name(Enum value) {
  return detail::word_at(enum_words(value), static_cast<std::size_t>(value));
}

template <class Enum>
constexpr std::optional<Enum> enum_at(std::uint64_t number) {
  if (number > 255 || detail::word_at(enum_words(Enum{}), number).empty()) return std::nullopt;
  return static_cast<Enum>(number);
}

template <class Enum>
constexpr std::optional<Enum> parse_enum(std::string_view text) {
  for (std::uint64_t i = 0; enum_at<Enum>(i); ++i)
    if (name(*enum_at<Enum>(i)) == text) return enum_at<Enum>(i);
  return std::nullopt;
}

}  // namespace ratchet
