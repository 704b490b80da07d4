// Recorded runs: taken out as files, decided again by this build, and run again over the API.

#include <fstream>
#include <functional>
#include <stdexcept>

#include <fmt/format.h>

#include "bench/load/json.hpp"
#include "bench/load/scenarios.hpp"

namespace ratchet::bench {

namespace {

constexpr std::int64_t timeout_ms = 600'000;
constexpr int verify_timeout_ms = 600'000;
constexpr std::uint64_t posts_max = 64;  // under way at once

void record(Testbed& testbed, std::uint64_t runs, std::map<std::string, std::uint64_t>& troubles) {
  Fleet fleet(testbed, {.concurrency = 64, .runs_max = runs});
  fleet.start();
  wait_until(testbed, "the runs are recorded", timeout_ms, [&] { return fleet.ended() == runs; });
  for (const auto& [what, count] : fleet.troubles())
    troubles[what] += count;
}

HttpReply must(Testbed& testbed, HttpRequest request) {
  const std::string target = request.target;
  auto reply = testbed.server().ask(std::move(request));
  if (reply.status / 100 != 2)
    throw std::runtime_error(fmt::format("{} was answered with {}: {}", target, reply.status, reply.body));
  return reply;
}

std::vector<std::string> finished_runs(Testbed& testbed) {
  std::vector<std::string> ids;
  std::string cursor;
  do {
    const auto more = cursor.empty() ? "" : "&cursor=" + cursor;
    const auto page = must(testbed, {.target = "/v1/runs?status=finished&limit=200" + more}).body;
    for (std::size_t i = 0; i < size_at(page, "/items").value_or(0); ++i)
      ids.push_back(text_at(page, fmt::format("/items/{}/run_id", i)).value());
    cursor = text_at(page, "/next_cursor").value_or("");
  } while (!cursor.empty());
  return ids;
}

/// The bytes of all files.
std::uint64_t take_out(Testbed& testbed,
                       const std::vector<std::string>& ids,
                       const std::filesystem::path& to) {
  std::filesystem::create_directories(to);
  std::uint64_t bytes = 0;
  for (const auto& id : ids) {
    const auto file = must(testbed, {.target = "/v1/runs/" + id + "/export?full=true"}).body;
    std::ofstream(to / (id + ".ratchet"), std::ios::binary) << file;
    bytes += file.size();
  }
  return bytes;
}

double ms_since(std::int64_t from_ns) {
  return static_cast<double>(now_ns() - from_ns) / 1e6;
}

/// `ratchet replay --verify` on a folder; its last word.
std::string verify(Testbed& testbed, const std::filesystem::path& folder) {
  Process process({testbed.options().ratchet.string(), "replay", "--verify", folder.string()},
                  folder.string() + ".log",
                  verify_timeout_ms);
  return process.ready_line();
}

/// Replays every run from this step on, and waits for the ends; the time it took.
double run_again(Testbed& testbed,
                 const std::vector<std::string>& ids,
                 std::uint64_t from_step,
                 std::map<std::string, std::uint64_t>& troubles) {
  const auto from_ns = now_ns();
  const auto body =
      fmt::format(R"({{"from_step":{},"tools":"recorded","nondeterminism":"accept_divergence"}})", from_step);
  std::uint64_t sent = 0, accepted = 0;
  const std::function<void()> send = [&] {
    if (sent == ids.size()) return;
    testbed.server().send({.method = "POST", .target = "/v1/runs/" + ids[sent++] + "/replay", .body = body},
                          [&](const HttpReply& reply) {
                            ++accepted;
                            if (reply.status != 202)
                              ++troubles[fmt::format("replay answered {}", reply.status)];
                            send();
                          });
  };
  for (std::uint64_t i = 0; i < posts_max; ++i)
    send();
  wait_until(testbed, "the replays are accepted", timeout_ms, [&] { return accepted == ids.size(); });
  wait_until(testbed, "the replays have ended", timeout_ms, [&] { return testbed.all_runs_finished(); });
  return ms_since(from_ns);
}

}  // namespace

Report replay(const TestbedOptions& options, const ReplayOptions& replays) {
  auto conditions = conditions_of(options);
  conditions.add("recorded", fmt::format("{} runs of {} steps, model 0 ms", replays.runs, options.steps));
  conditions.add("verify", "`ratchet replay --verify`, one process, reading the files too");
  conditions.add("again", "over the API, tools `recorded`, the model asked live for the steps that are");
  Report report("replay", std::move(conditions));

  Testbed testbed(options);
  std::map<std::string, std::uint64_t> troubles;
  record(testbed, replays.runs, troubles);
  const auto ids = finished_runs(testbed);
  const auto effects = stat(testbed.mock_stats(), "/distinct_keys");
  const auto folder = options.base / fmt::format("ratchet-bench-replay-{}", now_ns());
  auto from_ns = now_ns();
  const auto bytes = take_out(testbed, ids, folder);
  const auto export_ms = ms_since(from_ns);
  from_ns = now_ns();
  const auto words = verify(testbed, folder);
  const auto verify_ms = ms_since(from_ns);
  if (words != fmt::format("{} runs, 0 would be written otherwise", ids.size())) ++troubles[words];
  std::filesystem::remove_all(folder);
  std::filesystem::remove(folder.string() + ".log");
  const auto last_ms = run_again(testbed, ids, options.steps, troubles);
  const auto all_ms = run_again(testbed, ids, 1, troubles);
  check_all_finished(testbed, troubles);

  Row row;
  row.add("runs", static_cast<double>(ids.size()), 0);
  row.add("KB a file", static_cast<double>(bytes) / 1024 / static_cast<double>(ids.size()), 1);
  row.add("export ms", export_ms, 0);
  row.add("verify ms", verify_ms, 0);
  row.add("again from the last step ms", last_ms, 0);
  row.add("again from the first ms", all_ms, 0);
  row.add("effects of replays", stat(testbed.mock_stats(), "/distinct_keys") - effects, 0);
  row.add("troubles", describe_troubles(troubles));
  report.add(std::move(row));
  return report;
}

}  // namespace ratchet::bench
