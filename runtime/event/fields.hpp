#pragma once
// Tagged fields: how any struct that names its `fields` stands in the journal (form: event/codec.hpp). A
// field that is zero or empty is not written, and one that is absent reads as zero or empty, whatever the
// struct's own default: the meaning of a record does not depend on the code that reads it.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "runtime/content.hpp"
#include "runtime/ids.hpp"
#include "runtime/money.hpp"
#include "runtime/time.hpp"

namespace ratchet::fields {

inline void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

template <class T>
struct IsVector : std::false_type {};

template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

template <class T>
struct IsOptional : std::false_type {};

template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <class T>
struct IsId : std::false_type {};

template <class Kind>
struct IsId<Id<Kind>> : std::true_type {};

template <class T>
struct IsBytes : std::false_type {};

template <std::size_t n>
struct IsBytes<std::array<std::uint8_t, n>> : std::true_type {};

template <class T>
concept Number =
    std::is_integral_v<T> || std::is_enum_v<T> || std::is_same_v<T, Timestamp> || std::is_same_v<T, Usd>;

template <Number T>
constexpr std::uint64_t to_wire(const T& value) {
  if constexpr (std::is_same_v<T, Timestamp>) {
    return zigzag(value.us);
  } else if constexpr (std::is_same_v<T, Usd>) {
    return zigzag(value.nano);
  } else if constexpr (std::is_signed_v<T>) {
    return zigzag(value);
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

// --- writing
// --------------------------------------------------------------------------------------------------

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  template <class T>
  void operator()(std::uint32_t number, std::string_view, const T& value) {
    if constexpr (IsVector<T>::value) {
      for (const auto& element : value)
        put(number, element, true);
    } else if constexpr (IsOptional<T>::value) {
      if (value) put(number, *value, true);
    } else {
      put(number, value, false);
    }
  }

 private:
  template <class T>
  void put(std::uint32_t number, const T& value, bool even_if_empty) {
    if constexpr (Number<T>) {
      const std::uint64_t wire = to_wire(value);
      if (wire == 0 && !even_if_empty) return;
      put_varint(out_, number << 2);
      put_varint(out_, wire);
    } else if constexpr (std::is_same_v<T, std::string>) {
      put_bytes(number, value, even_if_empty);
    } else if constexpr (std::is_same_v<T, Json>) {
      put_bytes(number, value.text, even_if_empty);
    } else if constexpr (std::is_same_v<T, Hash>) {
      put_bytes(number, value == Hash{} ? std::string_view{} : value.view(), even_if_empty);
    } else if constexpr (IsId<T>::value) {
      put_bytes(number, value.empty() ? std::string_view{} : value.ulid.view(), even_if_empty);
    } else if constexpr (IsBytes<T>::value) {
      const std::string_view bytes(reinterpret_cast<const char*>(value.data()), value.size());
      put_bytes(number, value == T{} ? std::string_view{} : bytes, even_if_empty);
    } else {
      std::string nested;
      T::fields(value, Writer(nested));
      put_bytes(number, nested, even_if_empty);
    }
  }

  void put_bytes(std::uint32_t number, std::string_view bytes, bool even_if_empty) {
    if (bytes.empty() && !even_if_empty) return;
    put_varint(out_, number << 2 | 1);
    put_varint(out_, bytes.size());
    out_ += bytes;
  }

  std::string& out_;
};

template <class T>
void write(const T& value, std::string& out) {
  T::fields(value, Writer(out));
}

// --- reading
// --------------------------------------------------------------------------------------------------

/// A cursor over bytes that remembers the first thing that was wrong.
struct Input {
  std::string_view rest;
  const char* error = nullptr;

  void refuse(const char* why) {
    if (!error) error = why;
    rest = {};
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest.empty()) {
        refuse("a number is cut off");
        return 0;
      }
      const auto byte = static_cast<std::uint8_t>(rest.front());
      rest.remove_prefix(1);
      if (shift == 63 && byte > 1) break;
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    refuse("a number is too large");
    return 0;
  }

  std::string_view bytes(std::uint64_t length) {
    if (length > rest.size()) {
      refuse("bytes are cut off");
      return {};
    }
    const std::string_view taken = rest.substr(0, length);
    rest.remove_prefix(length);
    return taken;
  }
};

template <class T>
const char* read(std::string_view bytes, T& value);

/// Sets the one field whose number it was given; every other call of `fields` passes by.
class Setter {
 public:
  Setter(std::uint32_t number, bool is_bytes, std::uint64_t wire, std::string_view bytes, const char*& error)
      : number_(number), is_bytes_(is_bytes), wire_(wire), bytes_(bytes), error_(error) {}

  template <class T>
  void operator()(std::uint32_t number, std::string_view, T& value) {
    if (number != number_) return;
    if constexpr (IsVector<T>::value) {
      set(value.emplace_back());
    } else if constexpr (IsOptional<T>::value) {
      set(value.emplace());
    } else {
      set(value);
    }
  }

 private:
  template <class T>
  void set(T& value) {
    if (is_bytes_ == Number<T>) return refuse("a field is of another kind");
    if constexpr (std::is_same_v<T, Timestamp>) {
      value.us = unzigzag(wire_);
    } else if constexpr (std::is_same_v<T, Usd>) {
      value.nano = unzigzag(wire_);
    } else if constexpr (std::is_enum_v<T>) {
      const auto known = enum_at<T>(wire_);
      if (!known) return refuse("an enumeration has a value that is not known");
      value = *known;
    } else if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(std::is_signed_v<T> ? static_cast<std::uint64_t>(unzigzag(wire_)) : wire_);
      if (to_wire(value) != wire_) return refuse("a number is too large for its field");
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = bytes_;
    } else if constexpr (std::is_same_v<T, Json>) {
      value.text = bytes_;
    } else if constexpr (std::is_same_v<T, Hash>) {
      set_array(value.bytes);
    } else if constexpr (IsId<T>::value) {
      set_array(value.ulid.bytes);
    } else if constexpr (IsBytes<T>::value) {
      set_array(value);
    } else {
      if (const char* nested = read(bytes_, value)) refuse(nested);
    }
  }

  template <class Array>
  void set_array(Array& array) {
    if (bytes_.empty()) return;
    if (bytes_.size() != array.size()) return refuse("a value of fixed length has another one");
    std::copy(bytes_.begin(), bytes_.end(), array.begin());
  }

  void refuse(const char* why) {
    if (!error_) error_ = why;
  }

  std::uint32_t number_;
  bool is_bytes_;
  std::uint64_t wire_;
  std::string_view bytes_;
  const char*& error_;
};

/// Makes every field zero or empty, before those that were written are set.
struct Clearer {
  template <class T>
  void operator()(std::uint32_t, std::string_view, T& value) const {
    if constexpr (std::is_same_v<T, Json>) {
      value.text.clear();
    } else if constexpr (Number<T> || IsVector<T>::value || IsOptional<T>::value ||
                         std::is_same_v<T, std::string> || std::is_same_v<T, Hash> || IsId<T>::value ||
                         IsBytes<T>::value) {
      value = T{};
    } else {
      T::fields(value, Clearer{});
    }
  }
};

/// Reads what `write` wrote, by this or any other version. Returns what was wrong, or nullptr.
template <class T>
const char* read(std::string_view bytes, T& value) {
  T::fields(value, Clearer{});
  Input input{bytes};
  const char* error = nullptr;
  while (!input.rest.empty() && !error) {
    const std::uint64_t tag = input.varint();
    const bool is_bytes = (tag & 3) == 1;
    if ((tag & 3) > 1) return "a field is of a kind that is not known";
    if (tag >> 2 > UINT32_MAX) return "a field has a number that is not possible";
    const std::uint64_t wire = input.varint();
    const std::string_view content = is_bytes ? input.bytes(wire) : std::string_view{};
    if (input.error) return input.error;
    T::fields(value, Setter(static_cast<std::uint32_t>(tag >> 2), is_bytes, wire, content, error));
  }
  return error ? error : input.error;
}

}  // namespace ratchet::fields
