#pragma once
// JSON values as JSON Schema sees them: numbers by value, objects without order. What `parse_json` gave has
// its keys sorted and every number in its one form, so that equal values have equal trees.

#include <cstdint>
#include <string>

#include <boost/json/value.hpp>

namespace ratchet::schema {

/// Exact for every number of JSON as we read it: integers of 64 bits and doubles.
using Number = long double;

Number number_of(const boost::json::value& value);

/// A total order; 0 for equal values (JSON Schema 2020-12 core, section 4.2.2). Adds what it cost to `steps`.
int compare_values(const boost::json::value& a, const boost::json::value& b, std::size_t& steps);

/// The shortest decimal that reads back as a number: digits × 10^exponent, without its sign.
struct Decimal {
  std::uint64_t digits = 0;
  int exponent = 0;
};

Decimal decimal_of(const boost::json::value& number);

std::string text_of(const Decimal& decimal);

/// Whether `number` is a whole multiple of `unit`, in decimal: 0.3 is one of 0.1. `unit` is not zero.
bool is_multiple(const Decimal& number, const Decimal& unit);

}  // namespace ratchet::schema
