#include "sandbox/machine.hpp"

#include <chrono>
#include <filesystem>
#include <future>
#include <map>
#include <random>
#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>

#include "sandbox/egress/proxy.hpp"
#include "sandbox/guest_image.hpp"
#include "sandbox/host.hpp"
#include "sandbox/launch/files.hpp"
#include "sandbox/launch/no_launcher.hpp"
#include "sandbox/launch/rootfs.hpp"
#include "sandbox/launch/slot.hpp"
#include "sandbox/launch/sweep.hpp"
#include "sandbox/workspace/local_workspaces.hpp"

namespace ratchet {

namespace {

using sandbox::Launcher;

constexpr int tool_user = 1'000;

/// A tier that is being tried: a start waits for that, on the worker that does it; nobody else does.
class BeingTried final : public Launcher {
 public:
  BeingTried(std::function<std::unique_ptr<Launcher>()> make, std::function<void(const TierStatus&)> tell)
      : launcher_(std::async(std::launch::async, [make = std::move(make), tell = std::move(tell)] {
                    // The server is starting beside it, and has runs to take up.
                    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 10);
                    std::shared_ptr<Launcher> made = make();
                    tell(made->status());
                    return made;
                  }).share()) {}

  void wait() const { launcher_.wait(); }

  TierStatus status() const override {
    if (launcher_.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
      return launcher_.get()->status();
    return {false, {}, "it is being tried", {}};
  }

  Result<sandbox::Started> start(std::string_view name) override { return launcher_.get()->start(name); }

 private:
  std::shared_future<std::shared_ptr<Launcher>> launcher_;
};

/// Where files of runs cannot be kept.
class NoWorkspaces final : public Workspaces {
 public:
  explicit NoWorkspaces(std::string why) : why_(std::move(why)) {}

  void open(const RunId&, std::optional<Hash>, OnDone done) override { done(refusal()); }

  void snapshot(const RunId&, OnSnapshot done) override { done(refusal()); }

  void close(const RunId&, OnDone done) override { done({}); }

  void sweep(std::vector<Hash>, OnDone done) override { done(refusal()); }

 private:
  tl::unexpected<Error> refusal() const { return fail(ErrorCode::sandbox_unavailable, why_); }

  std::string why_;
};

std::string random_label() {
  std::random_device random;
  return fmt::format("{:08x}", random());
}

/// The node's label in everything that it leaves on the machine: made once, kept in its data directory.
Result<std::string> node_label(const std::string& root) {
  const std::string path = root + "/node";
  if (std::filesystem::exists(path)) {
    auto label = sandbox::read_file(path);
    if (!label) return label;
    if (label->size() == 8 && label->find_first_not_of("0123456789abcdef") == std::string::npos) return label;
    return fail(ErrorCode::sandbox_unavailable, fmt::format("{} is not the label of a node", path));
  }
  const std::string label = random_label();
  if (auto done = sandbox::write_new(path, label, 0644); !done) return tl::unexpected(done.error());
  return label;
}

std::string described(std::uint32_t tier, const TierStatus& status) {
  if (!status.available) return fmt::format("tier {} is not available: {}", tier, status.why);
  std::string text = fmt::format("tier {}: {}", tier, status.runtime);
  for (const std::string& weaker : status.weaker)
    text += "; weaker: " + weaker;
  return text;
}

}  // namespace

struct SandboxMachine::Parts {
  explicit Parts(SandboxMachineOptions given) : options(std::move(given)) {}

  SandboxMachineOptions options;
  /// <node>-<start>: what is cleared away behind this process can be nothing of the node's next one.
  std::string label;
  std::unique_ptr<sandbox::Rootfs> rootfs;
  std::unique_ptr<sandbox::RefusalListener> refusals;
  std::unique_ptr<LocalWorkspaces> files;  ///< null: see `no_files`
  std::unique_ptr<NoWorkspaces> no_files;
  std::vector<std::shared_ptr<BeingTried>> tried;
  std::unique_ptr<LocalSandboxHost> host;

  std::string root() const { return std::filesystem::absolute(options.data_dir).string() + "/sandbox"; }

  /// Makes the directories, and opens what is shared by all sandboxes.
  Result<sandbox::Machine> set_up() {
    using Kind = sandbox::Namespaces::Kind;
    if (options.namespaces.kind == Kind::none)
      return fail(ErrorCode::sandbox_unavailable, options.namespaces.why);
    sandbox::Machine machine{sandbox::Places(root()), sandbox::find_cgroups(), options.namespaces};
    if (auto done = sandbox::make_directory(root(), 0755); !done) return tl::unexpected(done.error());
    auto node = node_label(root());
    if (!node) return tl::unexpected(node.error());
    sweep(machine, *node);
    label = fmt::format("{}-{}", *node, random_label());
    entrust(machine.places);
    auto root = sandbox::Rootfs::mount(machine.places);
    if (!root) return tl::unexpected(root.error());
    rootfs = std::move(*root);
    if (auto done = sandbox::write_new(machine.places.guest(), sandbox::guest_image(), 0755); !done)
      return tl::unexpected(done.error());
    if (auto done = sandbox::share_slots(machine.places); !done) return tl::unexpected(done.error());
    // Without it refused calls are refused all the same, and the tier says that nobody counts them.
    if (auto listener = sandbox::RefusalListener::open(machine.places.listener()))
      refusals = std::move(*listener);
    else
      options.log(LogLevel::warning, listener.error().text);
    LocalWorkspacesOptions workspaces;
    workspaces.data_dir = options.data_dir;
    workspaces.log = options.log;
    workspaces.tool_uid = workspaces.tool_gid = options.namespaces.kind == Kind::single ? 0 : tool_user;
    if (options.protected_paths) workspaces.read_only_paths = *options.protected_paths;
    auto opened = LocalWorkspaces::open(workspaces);
    if (!opened) return tl::unexpected(opened.error());
    files = std::move(*opened);
    for (std::string& weaker : files->weaker())
      machine.namespaces.weaker.push_back(std::move(weaker));
    return machine;
  }

  /// Removes what this node left when it was killed.
  void sweep(const sandbox::Machine& machine, const std::string& node) {
    const auto swept = sandbox::sweep(machine.places, machine.cgroups, fmt::format("ratchet-{}", node));
    if (!swept)
      options.log(LogLevel::error,
                  fmt::format("of earlier sandboxes something is left: {}", swept.error().text));
    else if (*swept > 0)
      options.log(LogLevel::info, fmt::format("{} sandboxes of a killed node were removed", *swept));
  }

  void entrust(const sandbox::Places& places) {
    if (!options.survivor) return;
    if (auto done = options.survivor->entrust(places, "ratchet-" + label); !done)
      options.log(LogLevel::warning, done.error().text);
  }

  std::shared_ptr<Launcher> launcher(std::uint32_t tier,
                                     const std::optional<sandbox::TierOptions>& wanted,
                                     const Result<sandbox::Machine>& machine) {
    const auto say = [log = options.log, tier](const TierStatus& status) {
      log(status.available && status.weaker.empty() ? LogLevel::info : LogLevel::warning,
          described(tier, status));
    };
    if (!wanted) return std::make_shared<sandbox::NoLauncher>("", "the configuration has it off");
    if (!machine) {
      auto nothing = std::make_shared<sandbox::NoLauncher>("", machine.error().text);
      say(nothing->status());
      return nothing;
    }
    tried.push_back(std::make_shared<BeingTried>(
        [tier,
         wanted = *wanted,
         machine = *machine,
         listener = refusals.get(),
         name = fmt::format("ratchet-{}-tier{}", label, tier)] {
          return sandbox::make_launcher(tier, wanted, machine, listener, name);
        },
        say));
    return tried.back();
  }
};

SandboxMachine::SandboxMachine(SandboxMachineOptions options)
    : parts_(std::make_unique<Parts>(std::move(options))) {
  Parts& parts = *parts_;
  const bool wanted = parts.options.tier2 || parts.options.tier3;
  const auto machine =
      wanted ? parts.set_up() : fail(ErrorCode::sandbox_unavailable, "the configuration has it off");
  if (!parts.files) parts.no_files = std::make_unique<NoWorkspaces>(machine.error().text);
  SandboxHostOptions host;
  host.node = parts.label;
  host.launchers = {{2, parts.launcher(2, parts.options.tier2, machine)},
                    {3, parts.launcher(3, parts.options.tier3, machine)}};
  host.workspace_of = [&parts](const RunId& run) {
    return parts.files ? parts.files->directory(run) : std::string();
  };
  host.egress = std::make_shared<sandbox::EgressProxy>(parts.options.dial);
  parts.host = std::make_unique<LocalSandboxHost>(std::move(host));
}

SandboxMachine::~SandboxMachine() = default;

void SandboxMachine::wait_until_tried() const {
  for (const auto& tier : parts_->tried)
    tier->wait();
}

SandboxHost& SandboxMachine::host() {
  return *parts_->host;
}

Workspaces& SandboxMachine::workspaces() {
  if (parts_->files) return *parts_->files;
  return *parts_->no_files;
}

}  // namespace ratchet
