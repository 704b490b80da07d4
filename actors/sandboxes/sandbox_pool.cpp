#include "actors/sandboxes/sandbox_pool.hpp"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "actors/sandboxes/sandbox_actor.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

struct Refill {};

}  // namespace

}  // namespace ratchet

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::Refill)

namespace ratchet {

namespace {

constexpr std::int64_t retry_ms = 5'000;  // after the machine could not start one

class Pool;
using Self = caf::stateful_actor<Pool>;

class Pool {
 public:
  static inline const char* name = "sandbox_pool";

  explicit Pool(Self* self) : self_(self) {}

  ~Pool() {
    if (parts_ && retry_) parts_->timer.cancel(retry_);
  }

  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void begin(SandboxParts* parts, std::uint32_t tier, std::size_t warm_wanted) {
    parts_ = parts;
    tier_ = tier;
    warm_wanted_ = warm_wanted;
    self_->set_down_handler([this](const caf::down_msg& down) { gone(down.source); });
  }

  void take(const caf::actor& holder) {
    if (closing_) return refuse(holder, "the server is shutting down");
    if (waiting_.size() >= limits::sandbox_calls_waiting_max)
      return refuse(holder, "too many calls wait for a sandbox; try again later");
    in_use_ = true;
    waiting_.push_back(holder);
    serve();
    start_more();
  }

  void forget_take(const caf::actor& holder) {
    const auto last = std::find(waiting_.rbegin(), waiting_.rend(), holder);
    if (last != waiting_.rend()) waiting_.erase(std::next(last).base());
  }

  void warm(const caf::actor& sandbox) {
    starting_.erase(sandbox.address());
    failures_ = 0;
    if (closing_) return tell(sandbox, EndSandbox{});
    warm_.push_back(sandbox);
    serve();
    start_more();
  }

  /// The machine has just said no: whoever waits is told, and the pool is filled later.
  void failed(const caf::actor& sandbox, const std::string& why) {
    starting_.erase(sandbox.address());
    ++failures_;
    // The machine has been tried by now. What it cannot do at all, it was said once that it cannot.
    if (const TierStatus status = parts_->host.tier(tier_); !status.available) {
      warm_wanted_ = 0;
      for (const caf::actor& each : std::exchange(waiting_, {}))
        refuse(each, fmt::format("tier {} is not available on this server: {}", tier_, status.why));
      return;
    }
    parts_->log(LogLevel::error, fmt::format("a sandbox of tier {} could not be started: {}", tier_, why));
    if (!waiting_.empty()) {
      refuse(waiting_.front(), why);
      waiting_.pop_front();
    }
    start_more();
  }

  void refill() {
    retry_ = 0;
    failures_ = 0;
    start_more();
  }

  void close(std::function<void()> done) {
    closing_ = true;
    done_ = std::move(done);
    for (const caf::actor& holder : std::exchange(waiting_, {}))
      refuse(holder, "the server is shutting down");
    for (const caf::actor& sandbox : std::exchange(warm_, {}))
      tell(sandbox, EndSandbox{});
    count();
    tell_if_empty();
  }

 private:
  void serve() {
    while (!waiting_.empty() && !warm_.empty()) {
      const caf::actor sandbox = std::move(warm_.front());
      warm_.pop_front();
      const caf::actor holder = std::move(waiting_.front());
      waiting_.pop_front();
      holders_[sandbox.address()] = holder;
      tell(sandbox, BelongTo{holder});
      tell(holder, SandboxTaken{tier_, std::make_shared<Result<caf::actor>>(sandbox)});
    }
    count();
  }

  /// For whoever waits, as many as wait; for the pool one at a time, so that a refill does not take the
  /// machine from the calls that run.
  void start_more() {
    if (!closing_ && !waiting_.empty() && starting_.empty() && alive_.size() >= limits::sandboxes_max)
      for (const auto& [sandbox, holder] : holders_)
        tell(holder, GiveBackIdle{tier_});
    while (!closing_ && alive_.size() < limits::sandboxes_max) {
      const bool for_caller = starting_.size() < waiting_.size();
      const bool for_pool = in_use_ && starting_.empty() && warm_.size() < warm_wanted_ && failures_ == 0;
      if (!for_caller && !for_pool) break;
      const caf::actor sandbox =
          spawn_sandbox(self_->home_system(), *parts_, tier_, caf::actor_cast<caf::actor>(self_));
      self_->monitor(sandbox);
      alive_.insert(sandbox.address());
      ++parts_->counters.alive;
      starting_.insert(sandbox.address());
    }
    if (failures_ > 0 && !retry_ && !closing_ && warm_.size() < warm_wanted_)
      retry_ = parts_->timer.at(parts_->clock.now().plus_ms(retry_ms),
                                [me = caf::actor_cast<caf::actor>(self_)] { tell(me, Refill{}); });
  }

  void gone(const caf::actor_addr& address) {
    if (alive_.erase(address) == 0) return;
    starting_.erase(address);
    holders_.erase(address);
    --parts_->counters.alive;
    std::erase_if(warm_, [&](const caf::actor& sandbox) { return sandbox.address() == address; });
    count();
    start_more();
    tell_if_empty();
  }

  void refuse(const caf::actor& holder, std::string why) {
    tell(holder,
         SandboxTaken{
             tier_,
             std::make_shared<Result<caf::actor>>(fail(ErrorCode::sandbox_unavailable, std::move(why)))});
  }

  void count() {
    parts_->counters.warm += warm_.size() - counted_warm_;
    counted_warm_ = warm_.size();
  }

  void tell_if_empty() {
    if (!closing_ || !alive_.empty() || !done_) return;
    std::exchange(done_, nullptr)();
    self_->quit();
  }

  Self* self_;
  SandboxParts* parts_ = nullptr;
  std::uint32_t tier_ = 0;
  bool closing_ = false;
  bool in_use_ = false;  ///< somebody has needed one: a tier that nobody uses costs nothing
  std::size_t warm_wanted_ = 0, failures_ = 0, counted_warm_ = 0;
  std::deque<caf::actor> warm_, waiting_;
  std::unordered_set<caf::actor_addr> alive_, starting_;
  std::unordered_map<caf::actor_addr, caf::actor> holders_;  ///< of the sandboxes that were handed out
  Timer::Ticket retry_ = 0;
  std::function<void()> done_;
};

caf::behavior pool_behavior(Self* self, SandboxParts* parts, std::uint32_t tier, std::size_t warm_wanted) {
  // Without its pool a tier would answer no call any more: the node ends, and the next start has everything.
  harden(self, [](const std::string& what) { crash("a sandbox pool failed: " + what, __FILE__, __LINE__); });
  self->state.begin(parts, tier, warm_wanted);
  return {
      [self](const TakeSandbox& take) { self->state.take(take.holder); },
      [self](const ForgetTake& forget) { self->state.forget_take(forget.holder); },
      [self](const SandboxWarm& warm) { self->state.warm(warm.sandbox); },
      [self](const SandboxFailed& failed) { self->state.failed(failed.sandbox, failed.why); },
      [self](const Refill&) { self->state.refill(); },
      [self](const ClosePool& close) { self->state.close(close.done); },
  };
}

}  // namespace

caf::actor spawn_sandbox_pool(caf::actor_system& system,
                              SandboxParts& parts,
                              std::uint32_t tier,
                              std::size_t warm_wanted) {
  return system.spawn(pool_behavior, &parts, tier, warm_wanted);
}

}  // namespace ratchet
