#include "actors/sandboxes/sandbox_actor.hpp"

#include <optional>

#include <fmt/format.h>

namespace ratchet {

namespace {

struct SandboxCreated {
  std::shared_ptr<const Result<SandboxId>> result;
};

struct LeaseEnded {
  std::shared_ptr<const Result<void>> result;
};

struct HostCommandEnded {
  std::shared_ptr<SandboxEnd> end;
};

struct SandboxDestroyed {
  std::shared_ptr<const Result<void>> result;
};

}  // namespace

}  // namespace ratchet

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::SandboxCreated)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::LeaseEnded)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::HostCommandEnded)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::SandboxDestroyed)

namespace ratchet {

namespace {

class SandboxShell;
using Self = caf::stateful_actor<SandboxShell>;

class SandboxShell {
 public:
  static inline const char* name = "sandbox";

  explicit SandboxShell(Self* self) : self_(self) {}

  ~SandboxShell() {
    if (id_ && !ending_) parts_->host.destroy(*id_, [](const Result<void>&) {});  // the actor has failed
  }

  SandboxShell(const SandboxShell&) = delete;
  SandboxShell& operator=(const SandboxShell&) = delete;

  void begin(SandboxParts* parts, std::uint32_t tier, const caf::actor& pool) {
    parts_ = parts;
    pool_ = pool;
    self_->set_down_handler([this](const caf::down_msg&) { end(); });
    self_->monitor(pool_);
    parts_->host.create(tier, [me = me()](Result<SandboxId> result) {
      tell(me, SandboxCreated{std::make_shared<Result<SandboxId>>(std::move(result))});
    });
  }

  void created(const Result<SandboxId>& result) {
    if (!result) {
      ++parts_->counters.failed;
      tell(pool_, SandboxFailed{me(), result.error().text});
      return self_->quit();
    }
    ++parts_->counters.started;
    id_ = *result;
    if (std::exchange(ending_, false)) return end();
    tell(pool_, SandboxWarm{me()});
  }

  void belong_to(const caf::actor& holder) {
    holder_ = holder;
    self_->monitor(holder_);
  }

  void lease(const SandboxLease& lease) {
    if (ending_) return;
    parts_->host.lease(*id_, lease, [me = me()](Result<void> result) {
      tell(me, LeaseEnded{std::make_shared<Result<void>>(std::move(result))});
    });
  }

  void leased(const std::shared_ptr<const Result<void>>& result) {
    tell(holder_, SandboxLeased{me(), result});
  }

  void run(const RunInSandbox& run) {
    if (ending_) return;
    parts_->host.run(*id_, *run.command, run.on_output, [me = me()](SandboxEnd end) {
      tell(me, HostCommandEnded{std::make_shared<SandboxEnd>(std::move(end))});
    });
  }

  void ended(const std::shared_ptr<SandboxEnd>& end) {
    if (!ending_) tell(holder_, CommandEnded{me(), end});
  }

  void end() {
    if (std::exchange(ending_, true) || !id_) return;  // one that is being started ends when it has been
    parts_->host.destroy(*id_, [me = me()](Result<void> result) {
      tell(me, SandboxDestroyed{std::make_shared<Result<void>>(std::move(result))});
    });
  }

  void destroyed(const Result<void>& result) {
    if (!result) parts_->log(LogLevel::error, "a sandbox could not be removed: " + result.error().text);
    self_->quit();
  }

 private:
  caf::actor me() const { return caf::actor_cast<caf::actor>(self_); }

  Self* self_;
  SandboxParts* parts_ = nullptr;
  caf::actor pool_, holder_;
  std::optional<SandboxId> id_;
  bool ending_ = false;
};

caf::behavior sandbox_behavior(Self* self, SandboxParts* parts, std::uint32_t tier, const caf::actor& pool) {
  harden(self, [parts](const std::string& what) {
    parts->log(LogLevel::error, "the actor of a sandbox failed: " + what);
  });
  self->state.begin(parts, tier, pool);
  return {
      [self](const SandboxCreated& created) { self->state.created(*created.result); },
      [self](const BelongTo& belong) { self->state.belong_to(belong.holder); },
      [self](const LeaseSandbox& lease) { self->state.lease(*lease.lease); },
      [self](const LeaseEnded& ended) { self->state.leased(ended.result); },
      [self](const RunInSandbox& run) { self->state.run(run); },
      [self](const HostCommandEnded& ended) { self->state.ended(ended.end); },
      [self](const EndSandbox&) { self->state.end(); },
      [self](const SandboxDestroyed& destroyed) { self->state.destroyed(*destroyed.result); },
  };
}

}  // namespace

caf::actor spawn_sandbox(caf::actor_system& system,
                         SandboxParts& parts,
                         std::uint32_t tier,
                         const caf::actor& pool) {
  return system.spawn(sandbox_behavior, &parts, tier, pool);
}

}  // namespace ratchet
