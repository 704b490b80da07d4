#pragma once
// One sandbox as the host drives it: from the first word of its guest to its removal. Lives on the loop's
// thread, kept alive by whoever is still to call back; what blocks is done by workers, one thing after the
// other.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/result.hpp"
#include "runtime/sandbox/host.hpp"
#include "sandbox/channel/channel.hpp"
#include "sandbox/egress/egress.hpp"
#include "sandbox/launch/launcher.hpp"
#include "sandbox/loop.hpp"
#include "sandbox/workers.hpp"

namespace ratchet::sandbox {

/// What all sandboxes of a host share; outlives them.
struct BoxParts {
  Loop& loop;
  Workers& workers;
  Workers& killers;  ///< beside them, so that an end never waits for a beginning
  Egress& egress;
  std::function<std::string(const RunId&)> workspace_of;
  std::int64_t create_timeout_ms;
  std::int64_t kill_grace_ms;
  std::int64_t idle_freeze_ms;
};

class Box final : public std::enable_shared_from_this<Box> {
 public:
  Box(BoxParts& parts, SandboxId id, Started started);
  ~Box();

  using OnDone = SandboxHost::OnDone;

  /// Waits for the guest's first word and lets it rest. Errors: sandbox_unavailable; it is then to be
  /// destroyed.
  void begin(OnDone done);
  /// The contracts of `SandboxHost` hold for these.
  void lease(SandboxLease lease, OnDone done);
  void run(SandboxCommand command, SandboxHost::OnOutput on_output, SandboxHost::OnEnd on_end);
  void kill();
  void destroy(OnDone done);
  /// Ends it as if its guest had: what is under way is told why.
  void give_up(std::string why);

 private:
  /// starting: the guest has not said anything.  resting: frozen, nobody's.  leasing.  idle: leased. running.
  /// telling: a command has ended, and its evidence is gathered.  over: it takes nothing any more, but to be
  /// destroyed.  ending: likewise, and what it runs is being ended.
  enum class State { starting, resting, leasing, idle, running, telling, ending, over };

  struct Running {
    SandboxHost::OnOutput on_output;
    SandboxHost::OnEnd on_end;
    SandboxEnd end;
    std::int64_t since_ms = 0;
    std::uint64_t memory_deaths_before = 0;
    bool killed = false;
  };

  class Link;

  // The pipes.
  void on_readable();
  void handle(GuestEvent event);
  void flush();
  void stop_listening();

  // Between two commands.
  void become_idle();
  void on_idle();
  void start(const SandboxCommand& command);

  // How things end.
  void on_deadline();
  void on_ended(const guest_event::Ended& ended);
  void tell_end(Running running, std::uint64_t memory_deaths);
  /// Both parts of a command's evidence, when neither can grow any more; then it is told.
  void gather_evidence(std::shared_ptr<Running> running);
  void told(Running& running);
  /// The sandbox cannot be used further: what is under way in it is ended, and told so.
  void lose(SandboxEnd::Kind kind, std::string why);
  void become_over();
  /// Why it does not take what it was asked for.
  std::string why_not() const;

  // What blocks.
  void remove(OnDone done);
  void enqueue(std::function<Result<void>(Launched&)> task, std::function<void(Result<void>)> then);
  void next_task();

  void set_alarm(std::int64_t after_ms, void (Box::*what)());
  void on_silence();
  void settle(OnDone& done, Result<void> result);

  struct Task {
    std::function<Result<void>(Launched&)> what;
    std::function<void(Result<void>)> then;
  };

  BoxParts& parts_;
  const SandboxId id_;
  Fd to_guest_, from_guest_;
  const std::shared_ptr<Launched> launched_;
  const bool pids_inside_;

  State state_ = State::starting;
  Channel channel_;
  Loop::Id readable_ = 0, writable_ = 0, alarm_ = 0;
  std::optional<SandboxLease> lease_;
  OnDone pending_;       ///< of `begin` or `lease`
  bool frozen_ = false;  ///< while idle; or it is about to be
  std::optional<Running> running_;
  std::shared_ptr<Link> link_;
  bool egress_granted_ = false;
  bool telling_ = false;  ///< a command's end is still to be told
  std::string why_over_;
  OnDone destroyed_;  ///< a removal that waits until what is under way has ended
  std::deque<Task> tasks_;
  bool task_under_way_ = false;
};

}  // namespace ratchet::sandbox
