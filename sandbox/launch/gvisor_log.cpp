#include "sandbox/launch/gvisor_log.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/mount.h>

#include <fmt/format.h>

#include "runtime/limits.hpp"
#include "sandbox/fd.hpp"
#include "sandbox/launch/files.hpp"
#include "sandbox/launch/seccomp.hpp"

namespace ratchet::sandbox {

namespace {

constexpr std::size_t slice_bytes = 64u << 10;

/// runsc writes one file per command; the kernel's is that of "boot".
std::string find_boot_log(const std::string& directory) {
  std::error_code ignored;  // not there yet
  for (std::filesystem::directory_iterator at(directory, ignored), end; at != end; at.increment(ignored))
    if (at->path().filename().string().find(".boot.") != std::string::npos) return at->path().string();
  return {};
}

bool is_allowed(std::string_view call) {
  const auto calls = allowed_calls();
  return std::find(calls.begin(), calls.end(), call) != calls.end();
}

}  // namespace

std::vector<std::string> unsupported_calls(std::string_view text) {
  constexpr std::string_view mark = "Unsupported syscall ";
  std::vector<std::string> out;
  for (std::size_t at = 0;;) {
    const auto end = text.find('\n', at);
    if (end == text.npos) return out;
    const auto line = text.substr(at, end - at);
    at = end + 1;
    const auto found = line.find(mark);
    if (found == line.npos) continue;
    const auto name = line.substr(found + mark.size());
    out.emplace_back(name.substr(0, name.find_first_of("( ,:")));
  }
}

Result<void> mount_log(const Places& places, std::string_view name) {
  const auto path = places.log(name);
  if (auto made = make_directory(path, 0700); !made) return made;
  const auto options = fmt::format("size={},nr_inodes=64,mode=0700", limits::sandbox_log_bytes_max);
  if (::mount("log", path.c_str(), "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options.c_str()) == 0)
    return {};
  return system_error(fmt::format("cannot mount {}", path));
}

Result<void> unmount_log(const Places& places, std::string_view name) {
  const auto path = places.log(name);
  if (::umount2(path.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0 || errno == EINVAL || errno == ENOENT)
    return {};
  return system_error(fmt::format("cannot unmount {}", path));
}

SandboxEvidence GvisorLog::take() {
  const std::scoped_lock lock(mutex_);
  SandboxEvidence out;
  if (file_.empty()) file_ = find_boot_log(directory_);
  if (file_.empty()) return out;
  const Fd file(::open(file_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return out;  // the sandbox is gone, and its log with it
  std::string text(slice_bytes, '\0');
  for (;;) {
    const auto count = ::pread(file.get(), text.data(), text.size(), static_cast<off_t>(read_));
    if (count <= 0) return out;
    const std::string_view slice(text.data(), static_cast<std::size_t>(count));
    const auto complete = slice.rfind('\n');
    // A line that fills the slice is not one of those we look for.
    const auto used = complete != slice.npos ? complete + 1 : slice.size() == slice_bytes ? slice.size() : 0;
    if (used == 0) return out;
    for (auto& name : unsupported_calls(slice.substr(0, used))) {
      // What honest programs try first, and do without: rseq, by every start of one.
      if (is_allowed(name)) continue;
      ++out.refused_syscalls;
      if (out.syscalls.size() < limits::sandbox_names_max) out.syscalls.push_back(std::move(name));
    }
    read_ += used;
  }
}

}  // namespace ratchet::sandbox
