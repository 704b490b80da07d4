#include "runtime/money.hpp"

#include <fmt/format.h>

namespace ratchet {

std::string to_string(Usd amount) {
  const bool negative = amount.nano < 0;
  const std::uint64_t nano =
      negative ? 0 - static_cast<std::uint64_t>(amount.nano) : static_cast<std::uint64_t>(amount.nano);
  std::string text =
      fmt::format("{}{}.{:09}", negative ? "-" : "", nano / 1'000'000'000, nano % 1'000'000'000);
  for (int digits = 9; digits > 6 && text.back() == '0'; --digits)
    text.pop_back();
  return text;
}

Result<Usd> parse_usd(std::string_view text) {
  const auto refuse = [&] {
    return fail(ErrorCode::invalid_request,
                fmt::format("'{}' is not an amount of dollars such as \"0.50\"", text.substr(0, 40)));
  };
  constexpr std::int64_t dollars_max = 1'000'000'000;
  std::int64_t dollars = 0, fraction = 0;
  std::size_t i = 0;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
    dollars = dollars * 10 + (text[i] - '0');
    if (dollars >= dollars_max) return refuse();
  }
  if (i == 0) return refuse();
  if (i < text.size()) {
    if (text[i] != '.' || i + 1 == text.size()) return refuse();
    std::int64_t unit = 100'000'000;
    for (++i; i < text.size(); ++i, unit /= 10) {
      if (text[i] < '0' || text[i] > '9' || unit == 0) return refuse();
      fraction += (text[i] - '0') * unit;
    }
  }
  return Usd{dollars * 1'000'000'000 + fraction};
}

Usd price(std::int64_t tokens, Usd per_million) {
  __extension__ using Wide = __int128;
  const Wide product = static_cast<Wide>(tokens) * per_million.nano;
  return {static_cast<std::int64_t>((product + 999'999) / 1'000'000)};
}

}  // namespace ratchet
