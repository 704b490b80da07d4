#include "sandbox/launch/probe.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/limits.hpp"
#include "sandbox/launch/bwrap_launcher.hpp"
#include "sandbox/launch/child.hpp"
#include "sandbox/launch/files.hpp"
#include "sandbox/launch/no_launcher.hpp"

namespace ratchet::sandbox {

namespace {

constexpr std::int64_t version_timeout_ms = 10'000;
/// The first gVisor whose statx takes the flags of coreutils 9, by the date in its version.
constexpr int gvisor_date_min = 20'230'700;

std::string find_program(const std::string& name) {
  if (name.starts_with('/')) return ::access(name.c_str(), X_OK) == 0 ? name : std::string();
  for (const auto* folder :
       {"/usr/local/bin/", "/usr/local/sbin/", "/usr/bin/", "/usr/sbin/", "/bin/", "/sbin/"})
    if (const auto path = folder + name; ::access(path.c_str(), X_OK) == 0) return path;
  return {};
}

std::optional<OciKind> kind_of(std::string_view program) {
  const auto name = program.substr(program.rfind('/') + 1);
  if (name.starts_with("crun")) return OciKind::crun;
  if (name.starts_with("runsc")) return OciKind::runsc;
  if (name.starts_with("runc")) return OciKind::runc;
  return std::nullopt;
}

/// Until the end, or as long as a start may take.
std::string read_answer(int fd) {
  std::string out;
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(limits::sandbox_create_timeout_ms);
  while (out.size() < limits::runtime_answer_bytes_max) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd ready{fd, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) <= 0) return out;
    char bytes[4'096];
    const auto count = ::read(fd, bytes, sizeof bytes);
    if (count <= 0) return out;
    out.append(bytes, static_cast<std::size_t>(count));
  }
  return out;
}

/// Runs `stat /usr` as process 1: whether a sandbox can be started at all, sees its files, and has a kernel
/// that today's programs can work with. What is wrong, or nothing.
template <class AnyLauncher>
std::string try_out(AnyLauncher& launcher, std::string_view node) {
  auto started = launcher.start_program(fmt::format("{}-probe", node), {"/usr/bin/stat", "/usr"});
  if (!started) return started.error().text;
  const auto answer = read_answer(started->from_guest.get());
  const auto removed = started->sandbox->destroy();
  if (!removed) return removed.error().text;
  if (answer.find("/usr") == answer.npos || answer.find("directory") == answer.npos)
    return fmt::format("the first sandbox could not look at /usr; it said '{}'", answer);
  return {};
}

/// What `program --version` calls itself. Errors: sandbox_unavailable.
Result<std::string> version_of(const std::string& program) {
  ChildPlan ask;
  ask.argv = {program, "--version"};
  const auto printed = run(std::move(ask), version_timeout_ms);
  if (!printed) return tl::unexpected(printed.error());
  auto version = parse_version(program.substr(program.rfind('/') + 1), printed->out);
  if (!version.empty()) return version;
  return fail(ErrorCode::sandbox_unavailable,
              fmt::format("{} --version tells no version: {}{}", program, printed->out, printed->err));
}

std::unique_ptr<Launcher> none(std::string runtime, std::string why) {
  return std::make_unique<NoLauncher>(std::move(runtime), std::move(why));
}

template <class AnyLauncher>
std::unique_ptr<Launcher> tried(std::unique_ptr<AnyLauncher> launcher, std::string_view node) {
  auto why = try_out(*launcher, node);
  if (why.empty()) return launcher;
  return none(launcher->status().runtime, std::move(why));
}

}  // namespace

std::string parse_version(std::string_view runtime, std::string_view printed) {
  const auto at = printed.find_first_of("0123456789");
  if (at == printed.npos) return {};
  auto version = printed.substr(at, printed.find_first_of(" \n+", at) - at);
  // Debian writes "0.0~20240729.0".
  if (version.starts_with("0.0~")) version.remove_prefix(4);
  return fmt::format("{} {}", runtime, version);
}

std::string unfit(std::uint32_t tier, OciKind kind, std::string_view version) {
  if ((tier == 3) != (kind == OciKind::runsc))
    return fmt::format("tier {} cannot be had with {}: {}",
                       tier,
                       version,
                       tier == 3 ? "it has no kernel of its own" : "it is for tier 3");
  if (kind != OciKind::runsc) return {};
  int date = 0;
  const auto digits = version.find_first_of("0123456789");
  if (digits != version.npos) std::from_chars(version.data() + digits, version.data() + version.size(), date);
  // Builds from its main branch have another form; the trial decides.
  if (date > 20'000'000 && date < gvisor_date_min)
    return fmt::format("{} is too old: {} or later is needed (Debian 13 has it)", version, gvisor_date_min);
  return {};
}

std::unique_ptr<Launcher> make_launcher(std::uint32_t tier,
                                        const TierOptions& options,
                                        const Machine& machine,
                                        RefusalListener* listener,
                                        std::string_view node) {
  const bool bwrap = options.kind == TierOptions::Kind::bwrap;
  if (bwrap && tier != 2) return none("", "bubblewrap has no kernel of its own: it is for tier 2");
  if (machine.namespaces.kind == Namespaces::Kind::none) return none("", machine.namespaces.why);
  const std::string wanted = bwrap ? "bwrap" : options.runtime;
  const auto program = find_program(wanted);
  if (program.empty()) return none("", fmt::format("{} is not installed", wanted));
  const auto version = version_of(program);
  if (!version) return none("", version.error().text);
  if (bwrap) return tried(std::make_unique<BwrapLauncher>(machine, program, *version), node);
  const auto kind = kind_of(program);
  if (!kind) return none(*version, fmt::format("{} is not crun, runc or runsc", program));
  if (auto why = unfit(tier, *kind, *version); !why.empty()) return none(*version, std::move(why));
  const OciRuntime runtime{*kind, program, *version, options.platform};
  if (tier != 2) return tried(std::make_unique<OciLauncher>(machine, runtime, nullptr, nullptr), node);
  std::string why = "this is not root";
  if (machine.namespaces.kind == Namespaces::Kind::root) {
    auto users = std::make_shared<UserNamespaces>(node);
    auto best = tried(std::make_unique<OciLauncher>(machine, runtime, listener, std::move(users)), node);
    if (best->status().available) return best;
    why = best->status().why;
  }
  // Root of a container may have too few users to make one, or a /proc with parts hidden.
  return tried(std::make_unique<OciLauncher>(machine, runtime, listener, nullptr, why), node);
}

}  // namespace ratchet::sandbox
