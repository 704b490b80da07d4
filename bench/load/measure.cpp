#include "bench/load/measure.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "bench/common/event_loop.hpp"

namespace ratchet::bench {

namespace {

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(fmt::format("cannot read {}", path));
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The number behind `name` in a file of `name: number` lines.
std::uint64_t field(const std::string& text, std::string_view name) {
  const auto at = text.find(name);
  if (at == std::string::npos) throw std::runtime_error(fmt::format("no field '{}'", name));
  const auto from = text.find_first_of("0123456789", at + name.size());
  std::uint64_t value = 0;
  std::from_chars(text.data() + from, text.data() + text.size(), value);
  return value;
}

double cpu_seconds(const std::string& stat) {
  // The second field is the name in parentheses and may hold blanks; utime and stime are the 14th and 15th.
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i)
    fields >> skipped;
  std::uint64_t user = 0, system = 0;
  fields >> user >> system;
  return static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string file_system_of(const std::filesystem::path& directory) {
  struct statfs info{};
  if (statfs(directory.c_str(), &info) != 0) return "unknown";
  switch (static_cast<unsigned long>(info.f_type)) {
    case 0xEF53:
      return "ext4";
    case 0x58465342:
      return "xfs";
    case 0x9123683E:
      return "btrfs";
    case 0x01021994:
      return "tmpfs (nothing is durable there)";
    case 0x794C7630:
      return "overlayfs";
    default:
      return fmt::format("type {:x}", static_cast<unsigned long>(info.f_type));
  }
}

double fdatasync_us(const std::filesystem::path& directory) {
  constexpr int rounds = 101;
  const auto path = directory / "fdatasync-probe";
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) throw std::runtime_error(fmt::format("cannot write {}", path.string()));
  const std::array<char, 4096> page{};
  std::vector<std::int64_t> took;
  for (int i = 0; i < rounds; ++i) {
    const auto from = now_ns();
    if (pwrite(fd, page.data(), page.size(), i * 4096) < 0 || fdatasync(fd) != 0)
      throw std::runtime_error(fmt::format("cannot write {}", path.string()));
    took.push_back(now_ns() - from);
  }
  close(fd);
  std::filesystem::remove(path);
  std::nth_element(took.begin(), took.begin() + rounds / 2, took.end());
  return static_cast<double>(took[rounds / 2]) / 1e3;
}

}  // namespace

ProcessSample sample_process(pid_t pid) {
  const auto base = fmt::format("/proc/{}/", pid);
  const auto status = read_text(base + "status");
  return {.cpu_seconds = cpu_seconds(read_text(base + "stat")),
          .rss_peak_bytes = field(status, "VmHWM:") * 1024,
          .rss_bytes = field(status, "VmRSS:") * 1024,
          .anonymous_bytes = field(read_text(base + "smaps_rollup"), "\nAnonymous:") * 1024};
}

std::uint64_t disk_bytes(const std::filesystem::path& directory) {
  std::uint64_t blocks = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    struct stat info{};
    if (lstat(entry.path().c_str(), &info) == 0) blocks += static_cast<std::uint64_t>(info.st_blocks);
  }
  return blocks * 512;
}

std::optional<std::uint64_t> device_written_bytes(const std::filesystem::path& directory) {
  constexpr int fields_before = 6;  // of Documentation/block/stat.rst: the seventh is sectors written
  constexpr std::uint64_t sector_bytes = 512;
  struct stat info{};
  if (stat(directory.c_str(), &info) != 0) return std::nullopt;
  std::ifstream in(fmt::format("/sys/dev/block/{}:{}/stat", major(info.st_dev), minor(info.st_dev)));
  std::uint64_t value = 0;
  for (int i = 0; i <= fields_before; ++i)
    if (!(in >> value)) return std::nullopt;
  return value * sector_bytes;
}

Machine look_at_machine(const std::filesystem::path& directory) {
  utsname name{};
  uname(&name);
  return {.cores = static_cast<unsigned>(sysconf(_SC_NPROCESSORS_ONLN)),
          .cpu = cpu_model(),
          .kernel = name.release,
          .file_system = file_system_of(directory),
          .fdatasync_us = fdatasync_us(directory)};
}

}  // namespace ratchet::bench
