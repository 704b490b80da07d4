#include "bench/common/run_mark.hpp"

#include <charconv>
#include <cstring>

#include <fmt/format.h>

namespace ratchet::bench {

namespace {

constexpr std::string_view mark = "#run-";

std::optional<std::uint64_t> number_at(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

}  // namespace

std::string run_mark(std::uint64_t run) {
  return fmt::format("{}{:06}", mark, run);
}

std::optional<std::uint64_t> find_first_run(std::string_view body) {
  for (std::size_t at = 0; (at = body.find(mark, at)) != std::string_view::npos; at += mark.size())
    if (const auto run = number_at(body.substr(at + mark.size()))) return run;
  return std::nullopt;
}

std::optional<std::uint64_t> find_run(std::string_view body) {
  // Backwards from a rare character: the newest call of the run, or its task, is close to the end.
  while (!body.empty()) {
    const auto* hash = static_cast<const char*>(memrchr(body.data(), '#', body.size()));
    if (hash == nullptr) return std::nullopt;
    const auto rest = std::string_view(hash, static_cast<std::size_t>(body.data() + body.size() - hash));
    if (rest.starts_with(mark)) {
      if (const auto run = number_at(rest.substr(mark.size()))) return run;
    }
    body = body.substr(0, static_cast<std::size_t>(hash - body.data()));
  }
  return std::nullopt;
}

}  // namespace ratchet::bench
