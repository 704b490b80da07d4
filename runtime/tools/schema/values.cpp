#include "runtime/tools/schema/values.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "runtime/json/writer.hpp"

namespace ratchet::schema {

namespace {

using boost::json::kind;
using boost::json::value;

__extension__ using Wide = unsigned __int128;

int sign(auto a, auto b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

int rank(const value& of) {
  switch (of.kind()) {
    case kind::null:
      return 0;
    case kind::bool_:
      return 1;
    case kind::string:
      return 3;
    case kind::array:
      return 4;
    case kind::object:
      return 5;
    default:
      return 2;
  }
}

int compare_arrays(const boost::json::array& a, const boost::json::array& b, std::size_t& steps) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (const int order = compare_values(a[i], b[i], steps); order != 0) return order;
  return sign(a.size(), b.size());
}

int compare_objects(const boost::json::object& a, const boost::json::object& b, std::size_t& steps) {
  auto x = a.begin();
  for (auto y = b.begin(); x != a.end() && y != b.end(); ++x, ++y) {
    steps += x->key().size() / 16;
    if (const int order = x->key().compare(y->key()); order != 0) return order;
    if (const int order = compare_values(x->value(), y->value(), steps); order != 0) return order;
  }
  return sign(a.size(), b.size());
}

/// 10^power modulo `modulus`.
Wide power_of_ten(int power, std::uint64_t modulus) {
  Wide result = 1 % modulus, square = 10 % modulus;
  for (; power > 0; power /= 2) {
    if (power % 2 != 0) result = result * square % modulus;
    square = square * square % modulus;
  }
  return result;
}

}  // namespace

Number number_of(const value& number) {
  if (number.is_int64()) return static_cast<Number>(number.get_int64());
  if (number.is_uint64()) return static_cast<Number>(number.get_uint64());
  return static_cast<Number>(number.get_double());
}

int compare_values(const value& a, const value& b, std::size_t& steps) {
  ++steps;
  if (const int order = sign(rank(a), rank(b)); order != 0) return order;
  switch (a.kind()) {
    case kind::null:
      return 0;
    case kind::bool_:
      return sign(a.get_bool(), b.get_bool());
    case kind::string:
      steps += a.get_string().size() / 16;
      return std::string_view(a.get_string()).compare(std::string_view(b.get_string()));
    case kind::array:
      return compare_arrays(a.get_array(), b.get_array(), steps);
    case kind::object:
      return compare_objects(a.get_object(), b.get_object(), steps);
    default:
      return sign(number_of(a), number_of(b));
  }
}

Decimal decimal_of(const value& number) {
  if (number.is_int64()) {
    const auto given = number.get_int64();
    return {given < 0 ? 0 - static_cast<std::uint64_t>(given) : static_cast<std::uint64_t>(given), 0};
  }
  if (number.is_uint64()) return {number.get_uint64(), 0};
  // d.ddde±xx with at most 17 digits.
  std::array<char, 32> text;
  const auto end =
      std::to_chars(text.begin(), text.end(), std::fabs(number.get_double()), std::chars_format::scientific)
          .ptr;
  Decimal decimal;
  const char* at = text.begin();
  bool is_fraction = false;
  for (; at != end && *at != 'e'; ++at) {
    if (*at == '.') {
      is_fraction = true;
      continue;
    }
    decimal.digits = decimal.digits * 10 + static_cast<std::uint64_t>(*at - '0');
    if (is_fraction) --decimal.exponent;
  }
  int exponent = 0;
  if (at != end) std::from_chars(at + (at[1] == '+' ? 2 : 1), end, exponent);
  decimal.exponent += exponent;
  return decimal;
}

std::string text_of(const Decimal& decimal) {
  const auto scientific = std::to_string(decimal.digits) + "e" + std::to_string(decimal.exponent);
  double number = 0;
  std::from_chars(scientific.data(), scientific.data() + scientific.size(), number);
  std::string text;
  append_json_number(text, number);
  return text;
}

bool is_multiple(const Decimal& number, const Decimal& unit) {
  if (number.digits == 0) return true;
  const int shift = number.exponent - unit.exponent;
  if (shift >= 0) return number.digits % unit.digits * power_of_ten(shift, unit.digits) % unit.digits == 0;
  if (shift < -19) return false;  // the unit is above any 64-bit number of digits
  Wide divisor = unit.digits;
  for (int i = shift; i < 0; ++i)
    divisor *= 10;
  return number.digits % divisor == 0;
}

}  // namespace ratchet::schema
