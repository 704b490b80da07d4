#include "sandbox/launch/cgroup.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <sys/stat.h>
#include <thread>

#include <fmt/format.h>

#include "sandbox/launch/files.hpp"

namespace ratchet::sandbox {

namespace {

using Version = CgroupLayout::Version;
using Steady = std::chrono::steady_clock;

constexpr auto freeze_patience = std::chrono::seconds(1);
// The kernel tells of neither a frozen v1 group nor an empty one: we look again, this often.
constexpr auto pace = std::chrono::microseconds(500);
constexpr std::uint64_t period_us = 100'000;

/// The number after `key` and a blank, at the start of a line.
std::uint64_t counter(std::string_view text, std::string_view key) {
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const auto line = text.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ' ') continue;
    std::uint64_t value = 0;
    std::from_chars(line.data() + key.size() + 1, line.data() + line.size(), value);
    return value;
  }
  return 0;
}

template <class Condition>
bool holds_within(std::chrono::steady_clock::duration patience, Condition condition) {
  const auto deadline = Steady::now() + patience;
  while (!condition()) {
    if (Steady::now() >= deadline) return false;
    std::this_thread::sleep_for(pace);
  }
  return true;
}

}  // namespace

std::string Cgroup::path(Controller controller) const {
  const auto& folder = layout_.folder(controller);
  return folder.empty() ? std::string() : folder + "/" + name_;
}

std::vector<std::string> Cgroup::paths() const {
  std::vector<std::string> out;
  for (const auto controller : {Controller::freezer, Controller::pids, Controller::memory, Controller::cpu})
    if (auto path = this->path(controller);
        !path.empty() && std::find(out.begin(), out.end(), path) == out.end())
      out.push_back(std::move(path));
  return out;
}

Result<void> Cgroup::write(Controller controller, std::string_view file, std::string_view text) const {
  const auto path = this->path(controller);
  if (path.empty()) return {};  // the layout has said that it is missing
  return write_existing(fmt::format("{}/{}", path, file), text);
}

Cgroup Cgroup::existing(const CgroupLayout& layout, std::string_view name) {
  return {layout, std::string(name)};
}

Result<Cgroup> Cgroup::make(const CgroupLayout& layout, std::string_view name) {
  Cgroup out(layout, std::string(name));
  for (const auto& path : out.paths())
    if (::mkdir(path.c_str(), 0755) != 0) {
      const auto error = system_error(fmt::format("cannot make {}", path));
      (void)out.remove();  // what was made before it; the error above is the one to tell
      return error;
    }
  return out;
}

Result<std::vector<Fd>> Cgroup::entrances() const {
  std::vector<Fd> out;
  for (const auto& path : paths()) {
    const auto file = path + "/cgroup.procs";
    out.emplace_back(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    if (!out.back()) return system_error(fmt::format("cannot write {}", file));
  }
  return out;
}

Result<void> Cgroup::limit_memory(std::uint64_t bytes) const {
  const auto text = fmt::format("{}", bytes);
  if (layout_.version == Version::v2) {
    // Where the kernel has no swap accounting the file is not there, and nothing can be swapped by limit.
    if (::access((path(Controller::memory) + "/memory.swap.max").c_str(), F_OK) == 0)
      if (auto done = write(Controller::memory, "memory.swap.max", "0"); !done) return done;
    return write(Controller::memory, "memory.max", text);
  }
  const auto both = [this] {
    return ::access((path(Controller::memory) + "/memory.memsw.limit_in_bytes").c_str(), F_OK) == 0;
  };
  if (path(Controller::memory).empty()) return {};
  if (!both()) return write(Controller::memory, "memory.limit_in_bytes", text);
  // Memory must never be above memory with swap: the order depends on the direction.
  const auto first = write(Controller::memory, "memory.limit_in_bytes", text);
  if (auto done = write(Controller::memory, "memory.memsw.limit_in_bytes", text); !done) return done;
  return first ? first : write(Controller::memory, "memory.limit_in_bytes", text);
}

Result<void> Cgroup::limit(const SandboxLimits& limits) const {
  if (auto done = limit_memory(std::uint64_t{limits.memory_mb} << 20); !done) return done;
  if (auto done = write(Controller::pids, "pids.max", fmt::format("{}", limits.pids)); !done) return done;
  const auto quota_us = limits.cpu_permille * period_us / 1'000;
  if (layout_.version == Version::v2)
    return write(Controller::cpu, "cpu.max", fmt::format("{} {}", quota_us, period_us));
  if (auto done = write(Controller::cpu, "cpu.cfs_period_us", fmt::format("{}", period_us)); !done)
    return done;
  return write(Controller::cpu, "cpu.cfs_quota_us", fmt::format("{}", quota_us));
}

Result<void> Cgroup::freeze() const {
  const auto path = this->path(Controller::freezer);
  if (path.empty()) return {};
  const bool v2 = layout_.version == Version::v2;
  auto done = v2 ? write(Controller::freezer, "cgroup.freeze", "1")
                 : write(Controller::freezer, "freezer.state", "FROZEN");
  if (!done) return done;
  holds_within(freeze_patience, [&] {
    const auto text = read_file(path + (v2 ? "/cgroup.events" : "/freezer.state"));
    return !text || (v2 ? counter(*text, "frozen") == 1 : text->starts_with("FROZEN"));
  });
  return {};
}

Result<void> Cgroup::thaw() const {
  if (layout_.version == Version::v2) return write(Controller::freezer, "cgroup.freeze", "0");
  return write(Controller::freezer, "freezer.state", "THAWED");
}

std::uint64_t Cgroup::memory_deaths() const {
  const auto path = this->path(Controller::memory);
  if (path.empty()) return 0;
  const bool v2 = layout_.version == Version::v2;
  const auto text = read_file(path + (v2 ? "/memory.events" : "/memory.oom_control"));
  return text ? counter(*text, "oom_kill") : 0;  // gone with the sandbox
}

std::vector<pid_t> Cgroup::processes() const {
  std::vector<pid_t> out;
  for (const auto& path : paths()) {
    const auto text = read_file(path + "/cgroup.procs");
    if (!text) continue;
    const char *at = text->data(), *const end = at + text->size();
    for (pid_t pid = 0; at < end; ++at) {
      const auto [after, error] = std::from_chars(at, end, pid);
      // 0 is a process of a namespace that we do not see; kill(0) would be ourselves.
      if (error == std::errc() && pid > 0) out.push_back(pid);
      at = after;
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// Stopped first, none of them can fork on while the others die. Between the list and the signal a number
/// cannot be given to another process: what is frozen does not end, and nobody else reaps it.
void Cgroup::kill_once() const {
  if (layout_.version == Version::v2 && write(Controller::freezer, "cgroup.kill", "1")) {
    (void)thaw();  // a frozen group of version 2 dies as it is; the state is not left behind
    return;
  }
  (void)freeze();
  for (const auto pid : processes())
    ::kill(pid, SIGKILL);
  (void)thaw();  // of version 1 only what runs can die
}

bool Cgroup::kill(std::int64_t timeout_ms) const {
  return holds_within(std::chrono::milliseconds(timeout_ms), [this] {
    if (processes().empty()) return true;
    kill_once();
    return holds_within(std::chrono::milliseconds(20), [this] { return processes().empty(); });
  });
}

Result<void> Cgroup::remove() const {
  Result<void> out;
  for (const auto& path : paths()) {
    // A process that was just reaped can hold its group for a moment.
    bool gone = false;
    holds_within(freeze_patience, [&] {
      gone = ::rmdir(path.c_str()) == 0 || errno == ENOENT;
      return gone || errno != EBUSY;
    });
    if (!gone) out = system_error(fmt::format("cannot remove {}", path));
  }
  return out;
}

}  // namespace ratchet::sandbox
