// What a sandbox costs: to start, to lease, to call, to keep. Needs root and the runtimes. Medians over the
// rounds that are named, in milliseconds; beside them what the same program costs bare, and under bubblewrap.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "sandbox/host.hpp"
#include "sandbox/machine.hpp"

namespace ratchet {

namespace {

using Words = std::vector<std::string>;

const Words true_words = {"/bin/true"};
const Words python_words = {"/usr/bin/python3", "-c", "print('hello')"};
const Words bubblewrap = {"/usr/bin/bwrap", "--ro-bind", "/", "/", "--unshare-all", "--die-with-parent"};

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double median_of(int rounds, const std::function<void()>& before, const std::function<void()>& measured) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    before();
    const double from = now_ms();
    measured();
    times.push_back(now_ms() - from);
  }
  std::ranges::nth_element(times, times.begin() + rounds / 2);
  return times[static_cast<std::size_t>(rounds) / 2];
}

void spawn(Words words) {
  std::vector<char*> argv;
  for (auto& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", 1, 0);
  pid_t child = 0;
  int status = 0;
  const int error = ::posix_spawn(&child, argv[0], &quiet, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&quiet);
  RATCHET_ENSURE(error == 0 && ::waitpid(child, &status, 0) == child && status == 0,
                 words.front() + " failed");
}

Words under(Words wrapper, const Words& words) {
  wrapper.insert(wrapper.end(), words.begin(), words.end());
  return wrapper;
}

template <class T>
T must(Result<T> result) {
  RATCHET_ENSURE(result.has_value(), result.error().text);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

template <class T, class Ask>
T wait(Ask ask) {
  std::promise<T> told;
  ask([&told](T answer) { told.set_value(std::move(answer)); });
  return told.get_future().get();
}

/// One tier of this machine.
class Tier {
 public:
  Tier(SandboxHost& host, std::uint32_t number) : host_(host), number_(number) {}

  SandboxId create() {
    return must(wait<Result<SandboxId>>([&](auto done) { host_.create(number_, done); }));
  }

  void lease(SandboxId id) {
    must(wait<Result<void>>([&](auto done) { host_.lease(id, SandboxLease{}, done); }));
  }

  void run(SandboxId id, const Words& words) {
    SandboxCommand command;
    command.argv = words;
    command.directory = "/";
    command.output_bytes_max = 1u << 16;
    const auto end =
        wait<SandboxEnd>([&](auto done) { host_.run(id, command, [](std::string_view) {}, done); });
    RATCHET_ENSURE(end.kind == SandboxEnd::Kind::exited && end.code == 0,
                   "the command failed: " + end.err + end.why);
  }

  void destroy(SandboxId id) {
    must(wait<Result<void>>([&](auto done) { host_.destroy(id, done); }));
  }

 private:
  SandboxHost& host_;
  std::uint32_t number_;
};

double available_mb() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  double kb = 0;
  for (std::string line; file >> name >> kb; std::getline(file, line))
    if (name == "MemAvailable:") break;
  return kb / 1024;
}

void row(std::string_view what, double value, std::string_view unit = "ms") {
  fmt::print("  {:<46} {:9.2f} {}\n", what, value, unit);
}

void measure_calls(Tier& tier) {
  const auto nothing = [] {};
  SandboxId id = 0;
  row("start, lease, call of true: cold", median_of(5, nothing, [&] {
        id = tier.create();
        tier.lease(id);
        tier.run(id, true_words);
      }));
  row("lease and first call of true: warm",
      median_of(
          10,
          [&] { id = tier.create(); },
          [&] {
            tier.lease(id);
            tier.run(id, true_words);
          }));
  row("call of true in a held sandbox", median_of(50, nothing, [&] { tier.run(id, true_words); }));
  row("the same after a rest (thawed)",
      median_of(
          5,
          [] {
            std::this_thread::sleep_for(std::chrono::milliseconds(SandboxHostOptions().idle_freeze_ms + 200));
          },
          [&] { tier.run(id, true_words); }));
  row("python hello in a held sandbox", median_of(15, nothing, [&] { tier.run(id, python_words); }));
  row("destroy", median_of(1, nothing, [&] { tier.destroy(id); }));
}

void measure_keeping(Tier& tier, std::size_t count) {
  std::vector<SandboxId> all;
  const double before = available_mb(), from = now_ms();
  for (std::size_t i = 0; i < count; ++i)
    all.push_back(tier.create());
  row(fmt::format("{} at rest: start of each", count), (now_ms() - from) / static_cast<double>(count));
  row(fmt::format("{} at rest: memory of all", count), before - available_mb(), "MB");
  for (const SandboxId id : all)
    tier.destroy(id);
}

}  // namespace

void measure(const std::string& data_dir) {
  fmt::print("bare, and under bubblewrap\n");
  const auto nothing = [] {};
  row("true", median_of(30, nothing, [] { spawn(true_words); }));
  row("python hello", median_of(15, nothing, [] { spawn(python_words); }));
  row("bwrap true", median_of(15, nothing, [] { spawn(under(bubblewrap, true_words)); }));
  row("bwrap python hello", median_of(15, nothing, [] { spawn(under(bubblewrap, python_words)); }));

  SandboxMachineOptions options;
  options.data_dir = data_dir;
  options.namespaces = sandbox::enter_namespaces();
  // Whoever loses patience and kills us is left nothing.
  options.survivor = std::make_shared<sandbox::Survivor>(must(sandbox::Survivor::start()));
  options.tier2.emplace();
  options.tier3.emplace().runtime = "runsc";
  options.log = [](LogLevel, const std::string& line) { fmt::print("{}\n", line); };
  SandboxMachine machine(std::move(options));
  machine.wait_until_tried();
  for (const std::uint32_t number : {2u, 3u}) {
    const TierStatus status = machine.host().tier(number);
    if (!status.available) continue;
    fmt::print("tier {}, {}\n", number, status.runtime);
    Tier tier(machine.host(), number);
    measure_calls(tier);
    measure_keeping(tier, number == 2 ? 300 : 50);
  }
}

}  // namespace ratchet

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: bench_sandbox DIRECTORY   (on the disk that a server would use; fresh)\n");
    return 2;
  }
  ratchet::measure(argv[1]);
}
