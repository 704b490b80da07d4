#include "bench/load/prefix.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "bench/load/json.hpp"

namespace ratchet::bench {

namespace {

/// As the provider's cache sees it: marks say what to keep and are no part of what is kept.
std::string without_marks(std::string request) {
  static constexpr std::string_view mark = R"(,"cache_control":{"type":"ephemeral"})";
  for (std::size_t at = 0; (at = request.find(mark, at)) != std::string::npos;)
    request.erase(at, mark.size());
  return request;
}

std::string request_of(Testbed& testbed, const std::string& run, unsigned step) {
  const auto reply = testbed.server().ask({.target = fmt::format("/v1/runs/{}/steps/{}/request", run, step)});
  if (reply.status != 200)
    throw std::runtime_error(fmt::format("the request of step {} was answered with {}", step, reply.status));
  return without_marks(reply.body);
}

std::size_t common_bytes(const std::string& one, const std::string& other) {
  return static_cast<std::size_t>(std::mismatch(one.begin(), one.end(), other.begin(), other.end()).first -
                                  one.begin());
}

}  // namespace

double prefix_percent(Testbed& testbed) {
  const auto list = testbed.server().ask({.target = "/v1/runs?status=finished&limit=2"}).body;
  const auto run = text_at(list, "/items/0/run_id"), other = text_at(list, "/items/1/run_id");
  if (!run || !other) throw std::runtime_error("there are no two finished runs to compare");
  std::string before = request_of(testbed, *other, 1);
  std::size_t prefix = 0, sent = 0;
  for (unsigned step = 1; step <= testbed.options().steps; ++step) {
    std::string now = request_of(testbed, *run, step);
    prefix += common_bytes(now, before);
    sent += now.size();
    before = std::move(now);
  }
  return 100.0 * static_cast<double>(prefix) / static_cast<double>(sent);
}

}  // namespace ratchet::bench
