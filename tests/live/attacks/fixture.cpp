#include "tests/live/attacks/fixture.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>

#include <fmt/format.h>

#include "sandbox/launch/cgroup.hpp"
#include "tests/fakes/not_tested.hpp"
#include "tests/live/launch/fixture.hpp"

namespace ratchet::attacks {

namespace {

namespace fs = std::filesystem;

constexpr const char* prelude = R"(
import ctypes, errno, fcntl, os, signal, socket, struct, subprocess, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
  ctypes.set_errno(0)
  got = libc.syscall(ctypes.c_long(number), *[a if isinstance(a, bytes) else ctypes.c_long(a) for a in arguments])
  if got < 0: raise OSError(ctypes.get_errno(), '')
  return got
def write(path, text=b'x'):
  fd = os.open(path, os.O_WRONLY)
  try: os.write(fd, text)
  finally: os.close(fd)
def create(path): os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o644))
def read(path):
  with open(path, 'rb') as f: return f.read(4096)
def attack(name, function):
  try:
    function()
    print(name, 'DONE', flush=True)
  except OSError as e: print(name, errno.errorcode.get(e.errno, e.errno), flush=True)
def alone(name, function):
  child = os.fork()
  if child == 0:
    attack(name, function)
    os._exit(0)
  status = os.waitpid(child, 0)[1]
  if os.WIFSIGNALED(status): print(name, signal.Signals(os.WTERMSIG(status)).name, flush=True)
)";

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool is_one_of(const std::string& outcome, std::string_view alternatives) {
  for (;;) {
    const auto end = alternatives.find('|');
    if (outcome == alternatives.substr(0, end)) return true;
    if (end == alternatives.npos) return false;
    alternatives.remove_prefix(end + 1);
  }
}

template <class T>
T value_of(std::future<T> told) {
  RATCHET_ENSURE(told.wait_for(std::chrono::minutes(2)) == std::future_status::ready, "no callback came");
  return told.get();
}

template <class T, class Ask>
T wait(Ask ask) {
  auto told = std::make_shared<std::promise<T>>();
  ask([told](T value) { told->set_value(std::move(value)); });
  return value_of(told->get_future());
}

}  // namespace

Attack::Attack() {
  options_.data_dir = directory_.path();
  options_.namespaces = sandbox::live_namespaces();
  options_.tier2 = {sandbox::TierOptions::Kind::oci, "crun"};
  options_.tier3 = {sandbox::TierOptions::Kind::oci, "runsc"};
  // No look-up of these tests leaves the machine.
  options_.dial.resolver = [](const std::string&, std::uint16_t) {
    return std::vector<sandbox::SocketAddress>();
  };
  options_.log = [](LogLevel, std::string_view) {};
}

void Attack::SetUp() {
  // A trial of the other tier costs time, and says nothing here.
  if (own_kernel()) options_.tier2.reset();
  if (!own_kernel()) options_.tier3.reset();
  machine_ = std::make_unique<SandboxMachine>(options_);
  machine_->wait_until_tried();
  const auto status = host().tier(GetParam());
  if (!status.available) skip_not_tested("attacks on tier " + std::to_string(GetParam()), status.why);
}

void Attack::TearDown() {
  machine_.reset();
  if (IsSkipped()) return;
  EXPECT_THAT(remains(), testing::IsEmpty());
}

Result<SandboxId> Attack::create() {
  return wait<Result<SandboxId>>([&](auto done) { host().create(GetParam(), done); });
}

SandboxId Attack::leased(const Wanted& wanted, std::optional<Hash> snapshot) {
  if (wanted.filesystem == Filesystem::workspace) {
    const auto opened = wait<Result<void>>(
        [&](auto done) { machine_->workspaces().open(run_id(wanted.run), snapshot, done); });
    RATCHET_ENSURE(opened.has_value(), opened ? "" : opened.error().text);
  }
  const auto id = create();
  RATCHET_ENSURE(id.has_value(), id ? "" : id.error().text);
  const SandboxLease lease{run_id(wanted.run), wanted.limits, wanted.network_allow, wanted.filesystem};
  const auto done = wait<Result<void>>([&](auto told) { host().lease(*id, lease, told); });
  RATCHET_ENSURE(done.has_value(), done ? "" : done.error().text);
  return *id;
}

SandboxEnd Attack::run(SandboxId id, std::vector<std::string> argv, std::string input) {
  SandboxCommand command;
  command.argv = std::move(argv);
  command.input = std::move(input);
  command.timeout_ms = timeout_ms_;
  command.output_bytes_max = output_bytes_max_;
  return wait<SandboxEnd>([&](auto told) { host().run(id, std::move(command), {}, told); });
}

SandboxEnd Attack::shell(SandboxId id, std::string script) {
  return run(id, {"/bin/sh", "-c", std::move(script)});
}

std::shared_ptr<std::promise<SandboxEnd>> Attack::begun(SandboxId id, const std::string& script) {
  SandboxCommand command;
  command.argv = {"/bin/bash", "-c", "echo begun; " + script};
  command.timeout_ms = 600'000;
  command.output_bytes_max = output_bytes_max_;
  auto started = std::make_shared<std::promise<void>>();
  auto ended = std::make_shared<std::promise<SandboxEnd>>();
  const auto once = std::make_shared<std::once_flag>();
  host().run(
      id,
      std::move(command),
      [=](std::string_view) { std::call_once(*once, [&] { started->set_value(); }); },
      [=](SandboxEnd end) { ended->set_value(std::move(end)); });
  value_of(started->get_future());
  return ended;
}

SandboxEnd Attack::python(SandboxId id, std::string program) {
  return run(id, {"/usr/bin/python3", "-"}, std::move(program));
}

SandboxEnd Attack::attacks(SandboxId id, const std::string& program) {
  return python(id, prelude + program);
}

void Attack::expect_outcomes(const SandboxEnd& end, const Outcomes& expected) {
  EXPECT_EQ(end.kind, Kind::exited) << end.why;
  EXPECT_EQ(end.err, "");
  std::istringstream lines(end.out);
  std::map<std::string, std::string> seen;
  for (std::string name, outcome; lines >> name >> outcome;)
    seen[name] = outcome;
  for (const auto& [name, outcome] : seen) {
    const auto allowed = expected.find(name);
    if (allowed == expected.end())
      ADD_FAILURE() << name << " ended with " << outcome << ", and nobody said what it may end with";
    else
      EXPECT_TRUE(is_one_of(outcome, allowed->second))
          << name << " ended with " << outcome << " and not with " << allowed->second;
  }
  for (const auto& [name, outcome] : expected)
    EXPECT_TRUE(seen.contains(name)) << name << " was not tried";
}

void Attack::expect_usable(SandboxId id) {
  const auto end = shell(id, "echo as before");
  EXPECT_EQ(end.out, "as before\n") << end.err << end.why;
}

Result<void> Attack::destroy(SandboxId id) {
  return wait<Result<void>>([&](auto done) { host().destroy(id, done); });
}

RunId Attack::run_id(std::uint8_t number) {
  RunId run;
  run.ulid.bytes.fill(number);
  return run;
}

Result<Hash> Attack::snapshot(std::uint8_t run) {
  return wait<Result<Hash>>([&](auto done) { machine_->workspaces().snapshot(run_id(run), done); });
}

Result<void> Attack::close(std::uint8_t run) {
  return wait<Result<void>>([&](auto done) { machine_->workspaces().close(run_id(run), done); });
}

std::string Attack::label() const {
  return "ratchet-" + text_of(data_dir() + "/sandbox/node");
}

std::vector<int> Attack::processes() const {
  std::vector<int> out;
  for (const auto& name : sandbox::cgroups_named(sandbox::find_cgroups(), label() + "-"))
    for (const auto pid : sandbox::Cgroup::existing(sandbox::find_cgroups(), name).processes())
      out.push_back(pid);
  return out;
}

std::vector<int> Attack::processes(SandboxId id) const {
  const auto groups = sandbox::find_cgroups();
  for (const auto& name : sandbox::cgroups_named(groups, label() + "-"))
    if (name.ends_with(fmt::format("-{}", id))) return sandbox::Cgroup::existing(groups, name).processes();
  return {};
}

std::vector<std::string> Attack::remains() const {
  auto out = sandbox::cgroups_named(sandbox::find_cgroups(), label() + "-");
  for (const char* folder : {"bundles", "slots", "states/crun", "states/runsc", "workspaces"}) {
    std::error_code ignored;
    for (fs::directory_iterator at(data_dir() + "/sandbox/" + folder, ignored), end; at != end;
         at.increment(ignored))
      out.push_back(at->path().string());
  }
  std::istringstream mounts(text_of("/proc/self/mountinfo"));
  for (std::string line; std::getline(mounts, line);)
    if (line.find(label()) != std::string::npos) out.push_back(line);
  return out;
}

std::string case_name(const testing::TestParamInfo<std::uint32_t>& info) {
  return info.param == 2 ? "crun" : "runsc";
}

}  // namespace ratchet::attacks
