// What it costs to snapshot and to restore a workspace: 1,000 files of 50 KB. Medians, in milliseconds.
// Overlays need root; without it files are copied, and the figures are those of copying.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sandbox/workspace/local_workspaces.hpp"

namespace ratchet {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int files = 1'000;
constexpr std::size_t file_bytes = 50'000;
constexpr int rounds = 15;

template <class T>
T must(Result<T> result) {
  RATCHET_ENSURE(result.has_value(), result.error().text);
  if constexpr (!std::is_void_v<T>) return *result;
}

template <class T, class Ask>
T wait(Ask ask) {
  std::promise<Result<T>> told;
  ask([&told](Result<T> result) { told.set_value(std::move(result)); });
  return must<T>(told.get_future().get());
}

class Bench {
 public:
  Bench(const std::string& data_dir, bool overlay) {
    LocalWorkspacesOptions options;
    options.data_dir = data_dir;
    options.overlay = overlay;
    auto opened = LocalWorkspaces::open(options);
    RATCHET_ENSURE(opened.has_value(), opened.error().text);
    workspaces_ = std::move(*opened);
    for (const std::string& weaker : workspaces_->weaker())
      fmt::print("{}\n", weaker);
  }

  void open(std::optional<Hash> snapshot) {
    wait<void>([&](auto done) { workspaces_->open(run_, snapshot, done); });
  }

  Hash snapshot() {
    return wait<Hash>([&](auto done) { workspaces_->snapshot(run_, done); });
  }

  void close() {
    wait<void>([&](auto done) { workspaces_->close(run_, done); });
  }

  void write(int n) {
    std::string bytes(file_bytes, '\0');
    for (char& byte : bytes)
      byte = static_cast<char>(random_());
    const std::string directory = fmt::format("{}/{}", workspaces_->directory(run_), n % 20);
    std::filesystem::create_directory(directory);
    std::ofstream(fmt::format("{}/{}", directory, n)) << bytes;
  }

 private:
  std::unique_ptr<LocalWorkspaces> workspaces_;
  RunId run_;
  std::minstd_rand random_{1};
};

void time(const char* what, const std::function<void()>& prepare, const std::function<void()>& act) {
  std::vector<double> ms;
  for (int i = 0; i < rounds; ++i) {
    prepare();
    const auto from = Clock::now();
    act();
    ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - from).count());
  }
  std::sort(ms.begin(), ms.end());
  fmt::print("  {:<34} {:8.1f}   (min {:.1f}, max {:.1f})\n", what, ms[rounds / 2], ms.front(), ms.back());
}

void measure(const std::string& data_dir, bool overlay) {
  fmt::print("{}\n", overlay ? "overlay over hard links" : "copies");
  Bench bench(data_dir, overlay);
  bench.open(std::nullopt);
  for (int n = 0; n < files; ++n)
    bench.write(n);
  const auto from = Clock::now();
  Hash taken = bench.snapshot();
  fmt::print("  {:<34} {:8.1f}\n",
             "snapshot, the first",
             std::chrono::duration<double, std::milli>(Clock::now() - from).count());
  bench.snapshot();  // what was written in the clock's last tick is looked at once more
  time("snapshot, nothing changed", [] {}, [&] { bench.snapshot(); });
  time("snapshot, one file changed", [&] { bench.write(7); }, [&] { taken = bench.snapshot(); });
  time("restore", [&] { bench.close(); }, [&] { bench.open(taken); });
  time("snapshot, nothing since a restore", [&] { bench.open(taken); }, [&] { bench.snapshot(); });
  time("close", [&] { bench.open(taken); }, [&] { bench.close(); });
}

}  // namespace

}  // namespace ratchet

int main(int argc, char** argv) {
  using namespace ratchet;
  if (argc != 2) {
    fmt::print(stderr, "usage: bench_workspace DIRECTORY   (fresh; removed afterwards by you)\n");
    return 2;
  }
  for (const bool overlay : {true, false}) {
    const std::string data_dir = fmt::format("{}/{}", argv[1], overlay ? "overlay" : "copy");
    std::filesystem::create_directories(data_dir);
    ratchet::measure(data_dir, overlay);
  }
}
