#include "sandbox/launch/oci_launcher.hpp"

#include <charconv>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/limits.hpp"
#include "sandbox/launch/bundle.hpp"
#include "sandbox/launch/child.hpp"
#include "sandbox/launch/files.hpp"
#include "sandbox/launch/gvisor_log.hpp"
#include "sandbox/launch/seccomp.hpp"
#include "sandbox/launch/sweep.hpp"

namespace ratchet::sandbox {

namespace {

/// What gVisor takes of the machine for itself, above what the sandbox may have: some 45 MB and 40 tasks, and
/// a task for each thread inside, which the guest bounds.
constexpr SandboxLimits gvisor_needs = {.memory_mb = 96, .cpu_permille = 0, .pids = 1'024};

std::string_view state_name(OciKind kind) {
  switch (kind) {
    case OciKind::crun:
      return "crun";
    case OciKind::runc:
      return "runc";
    case OciKind::runsc:
      return "runsc";
  }
  return {};
}

pid_t read_pid(const std::string& path) {
  pid_t pid = 0;
  if (const auto text = read_file(path)) std::from_chars(text->data(), text->data() + text->size(), pid);
  return pid;
}

std::string without_newlines(std::string text) {
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

}  // namespace

OciLauncher::OciLauncher(Machine machine,
                         OciRuntime runtime,
                         RefusalListener* listener,
                         std::shared_ptr<UserNamespaces> users,
                         std::string_view why_none)
    : machine_(std::move(machine)),
      runtime_(std::move(runtime)),
      listener_(listener),
      users_(std::move(users)),
      seccomp_(runtime_.kind == OciKind::runsc
                   ? std::string()
                   : oci_seccomp(listener_ != nullptr ? machine_.places.listener() : std::string())) {
  status_.available = true;
  status_.runtime = runtime_.version;
  status_.weaker = weaker(machine_);
  if (runtime_.kind != OciKind::runsc && listener_ == nullptr)
    status_.weaker.emplace_back("evidence: refused system calls are not counted");
  if (runtime_.kind != OciKind::runsc && users_ == nullptr) status_.weaker.push_back(shared_users(why_none));
}

std::vector<std::string> OciLauncher::global_options(std::string_view name) const {
  std::vector<std::string> out = {
      runtime_.program, "--root", machine_.places.state(state_name(runtime_.kind))};
  switch (runtime_.kind) {
    case OciKind::crun:
      out.emplace_back("--cgroup-manager=disabled");
      break;
    case OciKind::runc:
      break;
    case OciKind::runsc:
      out.insert(out.end(),
                 {"--network=none",
                  "--platform=" + runtime_.platform,
                  "--directfs=false",
                  "--overlay2=none",
                  "--ignore-cgroups",
                  "--debug-log=" + machine_.places.log(name) + "/"});
      break;
  }
  return out;
}

Result<void> OciLauncher::command(std::vector<std::string> words,
                                  const LocalSandbox* enter,
                                  std::map<int, int> descriptors,
                                  std::int64_t timeout_ms) const {
  ChildPlan plan;
  plan.argv = std::move(words);
  plan.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
  plan.descriptors = std::move(descriptors);
  plan.as_root = machine_.namespaces.kind == Namespaces::Kind::user;
  std::vector<Fd> entrances;
  if (enter != nullptr) {
    auto opened = enter->cgroup().entrances();
    if (!opened) return tl::unexpected(opened.error());
    entrances = *std::move(opened);
    for (const auto& entrance : entrances)
      plan.enter.push_back(entrance.get());
  }
  const auto finished = run(std::move(plan), timeout_ms);
  if (!finished) return fail(ErrorCode::sandbox_unavailable, finished.error().text);
  if (finished->status == 0) return {};
  return fail(
      ErrorCode::sandbox_unavailable,
      fmt::format(
          "{} ended with {}: {}", runtime_.version, finished->status, without_newlines(finished->err)));
}

Result<std::unique_ptr<LocalSandbox>> OciLauncher::make(const std::string& name, const Lent& lent) {
  const bool own_kernel = runtime_.kind == OciKind::runsc;
  LocalSandboxParts parts{
      .name = name, .places = machine_.places, .cgroups = machine_.cgroups, .evidence = {}, .forget = {}};
  if (own_kernel) {
    parts.own_needs = gvisor_needs;
    parts.evidence = [log = std::make_shared<GvisorLog>(machine_.places.log(name))] { return log->take(); };
  } else if (listener_ != nullptr) {
    parts.evidence = [refusals = listener_->expect(name)] {
      auto taken = refusals->take();
      SandboxEvidence out;
      out.refused_syscalls = taken.count;
      out.syscalls = std::move(taken.names);
      return out;
    };
  } else {
    parts.evidence = [] { return SandboxEvidence{}; };
  }
  parts.forget = [this, name]() -> Result<void> {
    if (listener_ != nullptr) listener_->forget(name);
    auto words = global_options(name);
    words.insert(words.end(), {"delete", "--force", name});
    const auto done = command(std::move(words), nullptr, {}, limits::sandbox_destroy_timeout_ms);
    // What a runtime does not delete by itself is dead by now; only its notes are left.
    return done ? done : remove_notes_of(machine_.places.state(state_name(runtime_.kind)), name);
  };
  if (lent) parts.gone = [users = users_, lent] { users->give_back(std::move(*lent)); };
  auto made = LocalSandbox::make(std::move(parts));
  if (!made && listener_ != nullptr) listener_->forget(name);
  return made;
}

Result<void> OciLauncher::create_and_start(
    LocalSandbox& sandbox, const std::vector<std::string>& argv, const Lent& lent, int in, int out) {
  const auto& name = sandbox.parts().name;
  const auto bundle = machine_.places.bundle(name);
  BundleSpec spec{.name = name, .own_kernel = runtime_.kind == OciKind::runsc, .argv = argv};
  // It has groups of its own or none: it gets the name of ours, and puts the child in by itself.
  const bool enters_by_itself = runtime_.kind == OciKind::runc;
  if (enters_by_itself) spec.group = machine_.cgroups.within + "/" + name;
  spec.seccomp = seccomp_;
  // The runtime and its children find it through us, whatever they close.
  if (lent) spec.user_space = fmt::format("/proc/{}/fd/{}", ::getpid(), lent->space.get());
  if (auto made = write_new(bundle + "/config.json", oci_config(machine_.places, spec), 0600); !made)
    return made;
  if (runtime_.kind == OciKind::runsc)
    if (auto made = mount_log(machine_.places, name); !made) return made;
  const auto pid_file = bundle + "/pid";
  auto words = global_options(name);
  words.insert(words.end(), {"create", "--bundle", bundle, "--pid-file", pid_file, name});
  auto done = command(std::move(words),
                      enters_by_itself ? nullptr : &sandbox,
                      {{0, in}, {1, out}},
                      limits::sandbox_create_timeout_ms);
  if (!done) return done;
  sandbox.find_processes({read_pid(pid_file)});
  words = global_options(name);
  words.insert(words.end(), {"start", name});
  return command(std::move(words), nullptr, {}, limits::sandbox_create_timeout_ms);
}

Result<Started> OciLauncher::start_program(std::string_view name, std::vector<std::string> argv) {
  auto to_guest = make_pipe(), from_guest = make_pipe();
  if (!to_guest) return tl::unexpected(to_guest.error());
  if (!from_guest) return tl::unexpected(from_guest.error());
  Lent lent;
  if (users_) {
    auto taken = users_->take();
    if (!taken) return tl::unexpected(taken.error());
    lent = std::make_shared<UserNamespaces::Lent>(*std::move(taken));
  }
  auto sandbox = make(std::string(name), lent);
  if (!sandbox) return tl::unexpected(sandbox.error());
  const auto started = create_and_start(**sandbox, argv, lent, to_guest->read.get(), from_guest->write.get());
  if (!started) {
    const auto removed = (*sandbox)->destroy();
    auto text = started.error().text;
    if (!removed) text += fmt::format("; and then {}", removed.error().text);
    return fail(ErrorCode::sandbox_unavailable, std::move(text));
  }
  return Started{std::move(to_guest->write),
                 std::move(from_guest->read),
                 *std::move(sandbox),
                 runtime_.kind == OciKind::runsc};
}

Result<Started> OciLauncher::start(std::string_view name) {
  return start_program(name, guest_words(machine_));
}

}  // namespace ratchet::sandbox
