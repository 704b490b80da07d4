#pragma once
// A decision in the making: the events so far, and the state as it would be after them. Private to `decide`.

#include <string>
#include <utility>
#include <vector>

#include "runtime/run/decide.hpp"

namespace ratchet {

/// How much of a text the model is shown.
struct Shown {
  std::size_t whole = 0;  ///< texts of so many bytes stand as they are; longer ones become artifacts
  std::size_t head = 0;   ///< of those
};

class Draft {
 public:
  Draft(const Rules& rules, const RunState& state, const Context& context, Stamp stamp)
      : rules(rules), context(context), state(state), stamp(stamp) {}

  const Rules& rules;
  const Context& context;  ///< as it was before the first event of this decision
  RunState state;          ///< after the events so far
  Stamp stamp;
  Decided decision;
  std::optional<ModelFacts>
      briefing;  ///< of the model call that comes next, where its hooks have just spoken

  Timestamp now() const { return stamp.at; }

  const RunStarted& started() const { return *state.started; }

  /// Adds an event and folds it. `step` other than 0 opens that step.
  void emit(Payload payload, std::uint32_t step = 0);

  /// A warning for each budget of which four fifths are used, once.
  void warn();

  /// Large text becomes an artifact.
  Content stored(Content content, const Shown& shown);

  // --- the loop, one step at a time (decide_loop.cpp)
  /// Goes on from wherever the run stands, as far as it goes without the world: at the end of every decision.
  void go_on();
  /// Announces the next attempt of a model call, or stops the run on a limit. Does neither while hooks at
  /// `pre_model` have to be asked.
  void request_model();

  /// What is to be announced, and what it may take. Tokens are calibrated.
  struct Asking {
    ModelRequested requested;
    std::uint32_t step = 0;
    std::int64_t estimated = 0, wanted = 0, floor = 0;
  };

  /// Reserves and announces it, with a reply as long as the budgets and the window allow. Where they do not
  /// allow `floor`, it says which of them and announces nothing.
  std::optional<StopReason> announce(Asking asking, const Context& context, const Growth& growth);

  std::int64_t calibrated(std::int64_t tokens) const { return tokens * state.calibration_permille / 1'000; }

  /// Whether the hooks at `pre_model` let the next attempt be announced; where they do not, the run ends or
  /// waits for a person.
  bool is_cleared();
  void pause(std::vector<PauseReason> reasons, std::optional<Timestamp> expires_at = std::nullopt);
  /// Goes on after a pause that lay over the run, if it was for this reason. Waiting for a person moves the
  /// deadline; waiting for a machine does not.
  void resume(PauseReason reason);
  bool is_paused_for(PauseReason reason) const;
  void pause_for_people();
  /// Runs what was approved, but for calls that use the workspace.
  void run_approved();
  /// Calls that use the run's workspace run one after the other, in the order of the reply: runs the next one
  /// that may, once the one before it has left.
  void run_next_in_workspace();
  /// Settles what is open, says why, and ends the run: after its sub-agents, if some are under way.
  void finish(StopReason reason, std::string error = {});
  /// Ends the run if more was used than it has: a provider may report more than was reserved. Nothing starts
  /// after that.
  bool finish_if_overrun();
  void abandon(const OpenCall& call);

  // --- compactions (decide_compaction.cpp)
  /// Whether something else than the next step follows: a compaction is announced, or the run ends because
  /// none can help. `growth`: of the step that would be.
  bool compacts_first(const ContextAfter& after, const Growth& growth);
  std::optional<Cut> choose_cut(const std::vector<Cut>& cuts, std::int64_t estimated) const;
  /// A compaction has had its reply, which has been emitted.
  void note_came(const ModelReply& reply);

  // --- models (decide_model.cpp)
  void model_ended(const input::ModelEnded& ended);
  /// Nobody knows how far the provider got: the attempt is charged as reserved, and repeated.
  void model_lost(std::string why);
  /// The same, at the end of the run.
  void abandon_model(std::string why);

  // --- calls (decide_calls.cpp)
  /// Judges what can be judged from what is known here; the rest waits for its facts.
  void request_calls(const std::vector<ReplyBlock>& content);
  void judged(const input::Judged& input);
  /// Whether somebody outside is asked about the call first: not where what is known here refuses it.
  bool needs_facts(const CallQuestion& question) const;
  /// The call with its verdict. `error`: what kept its arguments from being one JSON object.
  ToolRequested requested(const OpenCall& call, std::string_view error, CallFacts facts) const;
  /// The same of a call that nobody will be asked about any more.
  ToolRequested unjudged(const OpenCall& call) const;
  /// Does what the verdict says.
  void obey(const ToolRequested& call);
  /// In a replay: answers a call from the record, a mock, or not at all. False: it is to be executed.
  bool answer_in_replay(const ToolRequested& call);
  bool uses_workspace(const OpenCall& call) const;
  /// Executes a call that may run.
  void run(const std::string& call_id);
  void start_wait(const OpenCall& call);
  void call_ended(const input::CallEnded& ended);
  /// How it was found out that nobody knows what became of a call: its request got no answer, or the server
  /// stopped. Only the first kind is counted and waits a little longer each time.
  enum class Loss { no_answer, restart };
  /// What may be done with a call that may have happened (the recovery table of the design).
  void call_lost(const OpenCall& call, Loss loss, std::string why);
  ToolPlanned plan_of(const OpenCall& call, std::uint32_t attempt, Execution execution) const;
  void plan(const OpenCall& call, std::uint32_t attempt, Execution execution, Timestamp not_before = {});
  void settle(const std::string& call_id,
              ToolStatus status,
              Content content,
              const CallEnd& end = {},
              ResultSource source = ResultSource::execution);
  void settle_text(const std::string& call_id, ToolStatus status, std::string text);
  void end_waits();

  // --- sub-agents (decide_children.cpp)
  /// Announces the start of a sub-agent, or says why there is none.
  void plan_child(const OpenCall& call);
  void child_ready(const input::ChildReady& ready);
  void child_ended(const input::ChildEnded& ended);
  /// The run has to end, and sub-agents of it are under way: they are cancelled, and the run ends after them.
  void end_children_first(StopReason reason, std::string error);

  // --- people (decide_approvals.cpp)
  void ask(const ToolRequested& call);
  Result<void> decide_approval(const input::Decide& input);
  /// Reminds of approvals, and rejects those that nobody has decided in time.
  void look_at_approvals();
  /// Rejects the approvals that are open, at the end of the run.
  void withdraw_approvals();
  void user_token(const input::UserToken& input);

 private:
  Result<void> decide_again(const input::Decide& input);
  void reject(const OpenCall& call, DecidedBy reason, const std::string& by, const std::string& comment);
  void resume_if_decided();
};

/// Of a tool's result.
Shown shown_of_results(const RunStarted& started);
/// Of what a person, or the run above, says: what stands inline whole, the rest as of results where the run
/// can read on, and whole where it cannot.
Shown shown_of_words(const RunStarted& started);

/// Takes the block's text out where it is longer than is shown whole, leaving a reference to artifact `n` of
/// the run with the head that the model is shown.
std::optional<Blob> spill(Block& block, std::uint32_t n, const Shown& shown, Stamp& stamp);

/// What `tokens` cost: what was read from and written to the cache at its own price, the rest at the price of
/// input.
Usd cost_of(const Usage& usage, const Prices& prices);

}  // namespace ratchet
