#include "runtime/tools/rate_limit.hpp"

#include <charconv>

#include <fmt/format.h>

#include "runtime/limits.hpp"

namespace ratchet {

namespace {

constexpr std::pair<std::string_view, std::int64_t> units[] = {
    {"s", 1'000}, {"min", 60'000}, {"h", 3'600'000}, {"day", 86'400'000}};

}  // namespace

Result<RateLimit> parse_rate_limit(std::string_view text) {
  const auto refuse = [&] {
    return fail(
        ErrorCode::invalid_definition,
        fmt::format("expected \"<calls>/<s|min|h|day> per <run|user|team>\", such as \"60/min per run\", "
                    "with 1 to {} calls, found '{}'",
                    limits::rate_calls_max,
                    text.substr(0, 64)));
  };
  RateLimit limit;
  const auto slash = text.find('/');
  const auto per = text.find(" per ");
  if (slash == std::string_view::npos || per == std::string_view::npos || per < slash) return refuse();
  const auto [end, error] = std::from_chars(text.data(), text.data() + slash, limit.calls);
  if (error != std::errc() || end != text.data() + slash || limit.calls < 1 ||
      limit.calls > limits::rate_calls_max)
    return refuse();
  const auto unit = text.substr(slash + 1, per - slash - 1);
  for (const auto& [name, ms] : units)
    if (name == unit) limit.window_ms = ms;
  const auto whose = parse_enum<RatePer>(text.substr(per + 5));
  if (limit.window_ms == 0 || !whose) return refuse();
  limit.per = *whose;
  return limit;
}

}  // namespace ratchet
