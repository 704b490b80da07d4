#pragma once
// The loop of one run, without I/O: signals in, actions out. It owns what has been started, what waits for a
// commit and when the run can sleep. The run actor and the simulator do nothing but execute its actions, so
// the races that matter (late results, crashes between a commit and its effect, cancels) are simulated too.
//
// Append first, act afterwards: at most one append is under way; inputs that arrive meanwhile wait. When it
// is durable its events are folded and published, and what is then outstanding and was not started is
// started.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "runtime/context/context.hpp"
#include "runtime/journal.hpp"
#include "runtime/node.hpp"
#include "runtime/run/decide.hpp"
#include "runtime/run/outstanding.hpp"
#include "runtime/run/start.hpp"
#include "runtime/tools/facts.hpp"

namespace ratchet {

/// Names a command that waits for its answer. The caller chooses; 0: nobody waits.
using Token = std::uint64_t;

namespace signal {

struct Given {
  Input input;
  Token token = 0;
};

/// The append is durable.
struct Committed {};

/// The append was not written. `stale_lease` and `conflict` end this activation; after `store_unavailable`
/// the driver tries again later, but for commands, which are refused.
struct Refused {
  Error error;
};

/// A stopped effect will not be heard of any more.
struct Stopped {
  Effect effect;
};

}  // namespace signal

using Signal = std::variant<signal::Given, signal::Committed, signal::Refused, signal::Stopped>;

namespace action {

struct Append {
  RunAppend append;
  std::vector<FirstAppend> children = {};  ///< that begin with it: in the same commit, taken up after it
  bool reserve = false;                    ///< may use the space kept for cancels
};

struct StartModel {
  ModelCall call;
};

struct StartCall {
  CallEffect effect;
  std::shared_ptr<const ToolManifest> tool;  ///< keeps the whole version alive, also past the run
  Execution execution = Execution::call;
  std::string args, idempotency_key;
  std::size_t answer_bytes_max = 0;  ///< what the run shows of one result: a tool that pages keeps to it
  std::optional<Timestamp> token_expires_at = {};  ///< of the user's token, where it expires
  std::optional<JudgeQuestion> review = {};        ///< its result is for a `Reviewer` to see first
  std::optional<Hash> workspace = {};              ///< the snapshot that it starts from, where it uses one
};

/// Look up the agent that a call wants to start: `input::ChildReady`.
struct PrepareChild {
  CallEffect effect;
  std::string agent_id;
};

/// Hand an input to another run, as a command of this run's team whose answer nobody waits for. May be lost.
struct TellRun {
  RunId run_id;
  Input input;
};

/// Gather the facts for the verdict on a call.
struct StartJudging {
  JudgeEffect effect;
  JudgeQuestion question;
};

/// Ask the hooks at `pre_model` about the model call that comes next.
struct StartBriefing {
  BriefEffect effect;
  JudgeQuestion question;
};

struct Stop {
  Effect effect;
};

struct Answer {
  Token token;
  Result<Accepted> result;
};

struct Publish {
  std::vector<Event> events;
};

/// Sets the run's one timer: an `input::Due` at this time. Replaces the earlier one.
struct WakeAt {
  Timestamp at;
};

/// The context must be folded anew for another provider: read the journal and call `reload`.
struct Reload {};

/// Nothing is under way and only time or a person can move the run, or it is over: the actor ends.
struct Passivate {};

/// This activation has lost the run: the actor ends at once and answers nobody else.
struct GiveUp {
  Error error;
};

}  // namespace action

using Action = std::variant<action::Append,
                            action::StartModel,
                            action::StartCall,
                            action::PrepareChild,
                            action::TellRun,
                            action::StartJudging,
                            action::StartBriefing,
                            action::Stop,
                            action::Answer,
                            action::Publish,
                            action::WakeAt,
                            action::Reload,
                            action::Passivate,
                            action::GiveUp>;

/// What all runs share. Must outlive the drivers.
struct DriverParts {
  HeadCache& heads;
  RecordPacker pack;
  bool decision_point = false;  ///< every call is put before one
};

class RunDriver {
 public:
  /// Takes up a run from its whole journal. `row` is the run's row after the activation. `after_failure`:
  /// this run's actor has just failed, so only real progress clears its resume count. `replay`: with what a
  /// run that replays another one answers calls. Errors: corrupt;
  /// not_supported, of a run that a newer build has started.
  static Result<std::unique_ptr<RunDriver>> load(DriverParts parts,
                                                 std::shared_ptr<const ToolBook> tools,
                                                 const RunRow& row,
                                                 const std::vector<Record>& records,
                                                 bool after_failure = false,
                                                 std::unique_ptr<ReplayAnswers> replay = nullptr);

  /// The first call: the run was taken up, and these have come meanwhile. All of them are handled before the
  /// run may rest again, or a command to a run that waits would wake it only to find it asleep. The ends of
  /// `open_children` that have finished must be among them: what they told an earlier activation may be lost.
  std::vector<Action> begin(std::vector<signal::Given> waiting, Stamp stamp);

  /// Handles a signal. The stamp is used only if something is decided.
  std::vector<Action> take(Signal signal, Stamp stamp);

  /// From now on no model call is announced: the run comes to rest when what is under way has ended.
  void hold() { holding_ = true; }

  /// Nothing is under way and nothing waits for a commit.
  bool at_rest() const { return !pending_ && started_.empty() && stopping_.empty() && inbox_.empty(); }

  /// Answers `action::Reload`.
  std::vector<Action> reload(const std::vector<Record>& records, Stamp stamp);

  const RunState& state() const { return state_; }

  /// The sub-agents that the run waits for.
  std::vector<RunId> open_children() const;
  /// What hooks are asked before they see how this sub-agent ended; nothing: there are none, or its call is
  /// over.
  std::optional<JudgeQuestion> review_of(const RunId& child) const;

  const Context& context() const { return *context_; }

 private:
  struct Pending {
    Decided decision;
    Hash head;
    signal::Given given;
  };

  RunDriver(DriverParts parts, std::shared_ptr<const ToolBook> tools, const RunRow& row, bool after_failure);

  Result<void> can_be_served() const;
  void rebuild_context(const std::vector<Record>& records);
  void committed();
  void refused(const Error& error, Timestamp now);
  void forget(const Effect& effect);
  void pump(Stamp stamp);
  bool wait_for_room(Timestamp now);
  void propose(signal::Given given, Stamp& stamp);
  void append(Decided decision, signal::Given given, Stamp& stamp);
  void reconcile(Stamp& stamp);
  void mark_questions();
  void start(const Effect& effect);
  void start_call(const CallEffect& effect);
  void cancel_children();

  DriverParts parts_;
  std::shared_ptr<const ToolBook> tools_;
  RunState state_;
  std::unique_ptr<Context> context_;
  std::unique_ptr<ReplayAnswers> replay_;  ///< none: the run replays nothing
  Hash head_;
  std::uint32_t lease_;
  std::uint32_t resumes_;
  bool after_failure_;
  std::string late_text_;  ///< of the last request
  std::deque<signal::Given> inbox_;
  std::optional<Pending> pending_;
  std::vector<Effect> started_, stopping_;
  std::optional<Timestamp> wake_at_;
  std::optional<Timestamp> hold_until_;  ///< the store had no room: nothing is proposed before
  bool reserve_is_full_ = false;         ///< not even for a cancel
  bool children_cancelled_ = false;      ///< in this activation
  bool reloading_ = false;
  bool holding_ = false;
  bool over_ = false;
  std::vector<Action> actions_;
};

}  // namespace ratchet
