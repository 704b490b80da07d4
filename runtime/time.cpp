#include "runtime/time.hpp"

#include <chrono>

#include <fmt/format.h>

namespace ratchet {

namespace {

using std::chrono::days;
using std::chrono::sys_days;
using std::chrono::year_month_day;

/// Reads exactly `digits` digits at `position`, or -1.
int number_at(std::string_view text, std::size_t position, std::size_t digits) {
  if (position + digits > text.size()) return -1;
  int value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    const char c = text[position + i];
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

/// Reads `Z` or `+hh:mm` at the end of an RFC 3339 time, in minutes; -10000 if it is neither.
int offset_minutes(std::string_view zone) {
  if (zone == "Z" || zone == "z") return 0;
  if (zone.size() != 6 || zone[3] != ':' || (zone[0] != '+' && zone[0] != '-')) return -10000;
  const int hours = number_at(zone, 1, 2);
  const int minutes = number_at(zone, 4, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return -10000;
  return (zone[0] == '-' ? -1 : 1) * (hours * 60 + minutes);
}

}  // namespace

std::string to_string(Timestamp at) {
  std::int64_t second = at.us / 1'000'000;
  std::int64_t micros = at.us % 1'000'000;
  if (micros < 0) {
    micros += 1'000'000;
    --second;
  }
  std::int64_t day = second / 86400;
  std::int64_t rest = second % 86400;
  if (rest < 0) {
    rest += 86400;
    --day;
  }
  const year_month_day date{sys_days{days{day}}};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z",
                     static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()),
                     rest / 3600,
                     rest / 60 % 60,
                     rest % 60,
                     micros);
}

Result<Timestamp> parse_timestamp(std::string_view text) {
  const auto refuse = [&] {
    return fail(ErrorCode::invalid_request, fmt::format("'{}' is not an RFC 3339 time", text.substr(0, 64)));
  };
  const int year = number_at(text, 0, 4), month = number_at(text, 5, 2), day = number_at(text, 8, 2);
  const int hour = number_at(text, 11, 2), minute = number_at(text, 14, 2), second = number_at(text, 17, 2);
  if (year < 0 || month < 0 || day < 0 || hour < 0 || minute < 0 || second < 0) return refuse();
  if (text[4] != '-' || text[7] != '-' || (text[10] != 'T' && text[10] != 't') || text[13] != ':' ||
      text[16] != ':')
    return refuse();
  const year_month_day date{std::chrono::year{year},
                            std::chrono::month{static_cast<unsigned>(month)},
                            std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return refuse();
  std::size_t position = 19;
  std::int64_t micros = 0;
  if (position < text.size() && text[position] == '.') {
    std::int64_t unit = 100'000;
    for (++position; position < text.size() && text[position] >= '0' && text[position] <= '9'; ++position) {
      micros += (text[position] - '0') * unit;
      unit /= 10;
    }
    if (text[position - 1] == '.') return refuse();
  }
  const int offset = offset_minutes(text.substr(position));
  if (offset == -10000) return refuse();
  const std::int64_t day_count = sys_days{date}.time_since_epoch().count();
  return Timestamp{(day_count * 86400 + hour * 3600 + minute * 60 + second - offset * 60) * 1'000'000 +
                   micros};
}

Timestamp SystemClock::now() {
  using namespace std::chrono;
  return {duration_cast<microseconds>(system_clock::now().time_since_epoch()).count()};
}

}  // namespace ratchet
