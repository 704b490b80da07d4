#include "sandbox/host.hpp"

#include <atomic>
#include <future>
#include <utility>

#include "sandbox/box.hpp"
#include "sandbox/egress/egress.hpp"
#include "sandbox/launch/launcher.hpp"
#include "sandbox/loop.hpp"
#include "sandbox/workers.hpp"

namespace ratchet {

using sandbox::Box;

namespace {

/// Few, since two starts at once take twice as long on a small machine, and never those that a call waits
/// for.
constexpr std::size_t starting_threads = 2;
constexpr std::size_t acting_threads = 3;
constexpr std::size_t killing_threads = 2;

Error gone(SandboxId id) {
  return {ErrorCode::sandbox_unavailable, "sandbox " + std::to_string(id) + ": there is no such one"};
}

}  // namespace

/// All but the constants is touched on the loop's thread only.
class LocalSandboxHost::Core {
 public:
  explicit Core(SandboxHostOptions given)
      : options(std::move(given)),
        egress(options.egress),
        parts{loop,
              acting,
              killing,
              *egress,
              options.workspace_of ? options.workspace_of : [](const RunId&) { return std::string(); },
              options.create_timeout_ms,
              options.kill_grace_ms,
              options.idle_freeze_ms} {
    RATCHET_ENSURE(egress, "somebody answers the connections of sandboxes");
  }

  /// Returns when no sandbox is left and none is being made.
  void close() {
    closing = true;
    loop.post([this] {
      std::vector<SandboxId> left;
      for (const auto& [id, box] : boxes)
        left.push_back(id);
      for (const auto id : left)
        destroy(id, [](Result<void>) {});
      // Their guests need not say anything any more.
      for (const auto& [id, box] : beginning)
        box->give_up("the sandboxes are shutting down");
      tell_if_closed();
    });
    closed.get_future().wait();
  }

  void start(const std::shared_ptr<sandbox::Launcher>& launcher, OnCreated done) {
    if (closing) return done(shutting_down());
    const SandboxId id = ++last_id;
    ++under_way;
    starting.submit([this, launcher, id, done = std::move(done)]() mutable {
      // Those that wait behind a slow start are not begun any more when nobody needs them.
      auto started = closing ? Result<sandbox::Started>(shutting_down())
                             : launcher->start("ratchet-" + options.node + "-" + std::to_string(id));
      auto shared = std::make_shared<Result<sandbox::Started>>(std::move(started));
      loop.post([this, id, shared, done = std::move(done)]() mutable {
        on_started(id, std::move(*shared), std::move(done));
      });
    });
  }

  Box* find(SandboxId id) {
    const auto found = boxes.find(id);
    return found == boxes.end() ? nullptr : found->second.get();
  }

  /// A box is forgotten at once, so that nothing more is asked of it, and lives until it is removed.
  void destroy(SandboxId id, OnDone done) {
    const auto found = boxes.find(id);
    if (found == boxes.end()) return done(tl::unexpected(gone(id)));
    auto box = boxes.extract(found).mapped();
    ++under_way;
    box->destroy([this, done = std::move(done)](Result<void> result) {
      done(std::move(result));
      finish_one();
    });
  }

  const SandboxHostOptions options;
  sandbox::Loop loop;
  const std::shared_ptr<sandbox::Egress> egress;

 private:
  void on_started(SandboxId id, Result<sandbox::Started> started, OnCreated done) {
    if (!started) {
      done(tl::unexpected(started.error()));
      return finish_one();
    }
    auto box = std::make_shared<Box>(parts, id, std::move(*started));
    beginning[id] = box;
    box->begin([this, id, box, done = std::move(done)](Result<void> result) {
      beginning.erase(id);
      if (result && closing) result = shutting_down();
      if (result) {
        boxes[id] = box;
        done(id);
        return finish_one();
      }
      box->destroy([this, done, error = result.error()](Result<void> destroyed) {
        auto told = error;
        if (!destroyed) told.text += "; and " + destroyed.error().text;
        done(tl::unexpected(std::move(told)));
        finish_one();
      });
    });
    if (closing) box->give_up("the sandboxes are shutting down");
  }

  void finish_one() {
    --under_way;
    tell_if_closed();
  }

  void tell_if_closed() {
    if (closing && under_way == 0 && boxes.empty() && !std::exchange(closed_told, true)) closed.set_value();
  }

  static tl::unexpected<Error> shutting_down() {
    return fail(ErrorCode::sandbox_unavailable, "the sandboxes are shutting down");
  }

  std::map<SandboxId, std::shared_ptr<Box>> boxes;
  std::map<SandboxId, std::shared_ptr<Box>> beginning;  ///< nobody knows of them yet
  SandboxId last_id = 0;
  std::size_t under_way = 0;          // starts and removals
  std::atomic<bool> closing = false;  ///< the starting threads look at it too
  bool closed_told = false;
  std::promise<void> closed;
  // Ended before the loop, to which they post.
  sandbox::Workers starting{starting_threads}, acting{acting_threads}, killing{killing_threads};
  sandbox::BoxParts parts;
};

LocalSandboxHost::LocalSandboxHost(SandboxHostOptions options)
    : core_(std::make_unique<Core>(std::move(options))) {}

LocalSandboxHost::~LocalSandboxHost() {
  core_->close();
}

TierStatus LocalSandboxHost::tier(std::uint32_t tier) const {
  const auto found = core_->options.launchers.find(tier);
  if (found != core_->options.launchers.end()) return found->second->status();
  TierStatus none;
  none.why = "no runtime for tier " + std::to_string(tier) + " is configured";
  return none;
}

void LocalSandboxHost::create(std::uint32_t tier, OnCreated done) {
  const auto found = core_->options.launchers.find(tier);
  auto launcher = found == core_->options.launchers.end() ? nullptr : found->second;
  core_->loop.post([core = core_.get(), launcher, tier, done = std::move(done)]() mutable {
    if (launcher == nullptr)
      return done(fail(ErrorCode::sandbox_unavailable,
                       "no runtime for tier " + std::to_string(tier) + " is configured"));
    core->start(launcher, std::move(done));
  });
}

void LocalSandboxHost::lease(SandboxId id, SandboxLease lease, OnDone done) {
  core_->loop.post([core = core_.get(), id, lease = std::move(lease), done = std::move(done)]() mutable {
    auto* box = core->find(id);
    if (box == nullptr) return done(tl::unexpected(gone(id)));
    box->lease(std::move(lease), std::move(done));
  });
}

void LocalSandboxHost::run(SandboxId id, SandboxCommand command, OnOutput on_output, OnEnd on_end) {
  core_->loop.post([core = core_.get(),
                    id,
                    command = std::move(command),
                    on_output = std::move(on_output),
                    on_end = std::move(on_end)]() mutable {
    if (auto* box = core->find(id))
      return box->run(std::move(command), std::move(on_output), std::move(on_end));
    SandboxEnd end;
    end.why = gone(id).text;
    on_end(std::move(end));
  });
}

void LocalSandboxHost::kill(SandboxId id) {
  core_->loop.post([core = core_.get(), id] {
    if (auto* box = core->find(id)) box->kill();
  });
}

void LocalSandboxHost::destroy(SandboxId id, OnDone done) {
  core_->loop.post(
      [core = core_.get(), id, done = std::move(done)]() mutable { core->destroy(id, std::move(done)); });
}

}  // namespace ratchet
