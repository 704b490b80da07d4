#pragma once
// The node as the outside sees it: commands go in and are answered when they are durable, events come out
// after they are. Implemented by `actors/`; `http/` knows nothing else of it. Reads go to the `JournalReader`
// directly.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/agent.hpp"
#include "runtime/journal.hpp"
#include "runtime/sandbox/host.hpp"
#include "runtime/tools/output_preview.hpp"

namespace ratchet {

template <class T>
using Reply =
    std::function<void(Result<T>)>;  ///< called exactly once, on a thread of the node; must not block

struct StartRun {
  std::string team;
  std::string agent_id;
  std::uint32_t agent_version = 0;  ///< 0: the one that serves
  Content input;
  std::string user_id;
  std::vector<std::string> scopes;
  std::string user_token;  ///< a secret: sealed with the run's first event; empty: the run acts for nobody
  std::optional<Timestamp> token_expires_at;
  std::optional<Budgets> budgets;  ///< already merged with the agent's: never above them
  std::string idempotency_key;     ///< empty: none
  Hash fingerprint;                ///< of the request without `user_token`, with its subject
  std::optional<std::uint64_t> seed;
  Json labels{"{}"};
};

struct RunAccepted {
  RunId run_id;
  std::uint32_t agent_version = 0;
  bool existing = false;  ///< the key had been used for the same request: this is its run
};

/// Runs a recorded run again, from a step of it on, with a change.
struct ReplayRun {
  std::string team;
  RunId run_id;
  std::uint32_t from_step = 1;        ///< the first live one
  Json patch{"{}"};                   ///< as runtime/replay/patch.hpp describes it
  std::optional<Content> input = {};  ///< of the patch
  ReplayTools tools = ReplayTools::recorded;
  Nondeterminism nondeterminism = Nondeterminism::accept_divergence;
  std::string
      user_id;  ///< with `user_token`; without one the replay goes by the record's user, and acts for nobody
  std::vector<std::string> scopes;
  std::string user_token;  ///< a secret
  std::optional<Timestamp> token_expires_at;
  std::string idempotency_key;  ///< empty: none
  Hash fingerprint;             ///< as of `StartRun`, and of run and step
};

/// A finished run of another server, verified by the caller.
struct ImportRun {
  std::string team;  ///< of who imports it
  RunId run_id;
  std::vector<Record> records;  ///< all of them, with a chain of their own
  std::vector<Blob> blobs;
  DefinitionPut definition;  ///< what it was pinned to: runtime/replay/version.hpp
};

struct SendMessage {
  std::string team;
  RunId run_id;
  Content content;
  std::string from;
  std::string idempotency_key;
};

struct CancelRun {
  std::string team;
  RunId run_id;
  std::string by;
  std::string reason;
};

struct ResolveCall {
  std::string team;
  RunId run_id;
  std::string call_id;
  CallOutcome outcome;
  Content result;
  std::string by;
};

struct ResumeRun {
  std::string team;
  RunId run_id;
  std::string by;
};

struct DecideApproval {
  std::string team;
  RunId run_id;
  ApprovalId approval_id;
  ApprovalDecision decision = ApprovalDecision::reject;
  std::optional<Json> edited_args;  ///< canonical
  std::optional<Hash> args_hash;    ///< of the arguments that the person saw
  std::string by, comment;
};

struct ReplaceUserToken {
  std::string team;
  RunId run_id;
  std::string token;  ///< a secret; verified by the caller, and of the run's user
  std::vector<std::string> scopes;
  std::optional<Timestamp> expires_at;
  std::string from;
};

struct Accepted {
  std::uint64_t seq = 0;
};  ///< the event that says so

/// Counters only rise; `alive` and `warm` are now.
struct SandboxStats {
  std::size_t alive = 0, warm = 0;
  std::uint64_t started = 0, failed = 0, calls = 0;
  std::uint64_t memory_deaths = 0, timeouts = 0, lost = 0;
  std::uint64_t refused_connections = 0, refused_syscalls = 0;
};

/// What the node is doing, for metrics. Counters only rise.
struct NodeStats {
  std::size_t active_runs = 0;  ///< that hold an actor
  std::size_t model_calls = 0;  ///< under way
  std::uint64_t runs_started = 0, actor_failures = 0;
  std::uint64_t journal_transactions = 0, journal_commits = 0, journal_refused = 0;
  std::uint64_t journal_commit_us_sum = 0, journal_commit_us_max = 0;
  SandboxStats sandboxes;
};

class Node {
 public:
  virtual ~Node() = default;
  // All are called from any thread and answer through `reply`.
  /// Errors: unknown_agent, idempotency_conflict, too_many_runs, draining, store_unavailable.
  virtual void start_run(StartRun command, Reply<RunAccepted> reply) = 0;
  /// The answer is as that of `start_run`. Errors besides: unknown_step, not_replayable, invalid_request (a
  /// live tool needs the user), and those of the patched definition.
  virtual void replay_run(ReplayRun command, Reply<RunAccepted> reply) = 0;
  /// Stores it; it is never taken up. Errors: conflict, where the run is here already; draining,
  /// store_unavailable.
  virtual void import_run(ImportRun command, Reply<RunAccepted> reply) = 0;
  /// Errors: unknown_run (another team's too), run_finished, draining, store_unavailable; and of each its
  /// own:
  virtual void send_message(SendMessage command, Reply<Accepted> reply) = 0;
  virtual void cancel_run(CancelRun command, Reply<Accepted> reply) = 0;
  /// Errors: unknown_call, not_paused, already_resolved.
  virtual void resolve_call(ResolveCall command, Reply<Accepted> reply) = 0;
  /// Errors: not_paused.
  virtual void resume_run(ResumeRun command, Reply<Accepted> reply) = 0;
  /// Errors: unknown_approval, already_decided, expired, args_changed, edited_args_refused, approval_refused.
  virtual void decide_approval(DecideApproval command, Reply<Accepted> reply) = 0;
  virtual void replace_user_token(ReplaceUserToken command, Reply<Accepted> reply) = 0;
  /// Writes definitions (through the same journal writer). Errors: conflict, store_unavailable.
  virtual void put_definitions(std::vector<DefinitionPut> puts, Reply<Committed> reply) = 0;
  /// Stops taking runs, gives steps under way `timeout_ms`, and returns when all actors have ended. Main
  /// thread only.
  virtual void drain(std::int64_t timeout_ms) = 0;
  /// True once every unfinished run has been taken up again after the start.
  virtual bool recovered() const = 0;
  virtual NodeStats stats() const = 0;
  /// What the machine can do for tools of this tier, 2 or 3.
  virtual TierStatus sandbox_tier(std::uint32_t tier) const = 0;
};

/// What a stream shows. Called in order of `seq` for one run; must not block and must not call
/// back.
class EventSink {
 public:
  virtual ~EventSink() = default;

  /// Durable events, rendered once for all subscribers of the run. `json` is empty where none of them wants
  /// the type.
  struct Rendered {
    std::uint64_t seq;
    std::string_view type;
    std::string json;
  };

  using Batch = std::shared_ptr<const std::vector<Rendered>>;

  /// Whether it shows events of this type. Asked from any thread; the answer never changes.
  virtual bool wants(std::string_view type) const {
    (void)type;
    return true;
  }

  /// All events of a commit, the unwanted ones too: they say how far the run has come.
  virtual void on_events(const RunId& run, Batch batch) = 0;
  /// A preview of the reply that is being written.
  virtual void on_delta(const RunId& run,
                        std::uint32_t step,
                        std::uint32_t attempt,
                        std::uint64_t index,
                        std::string_view text) = 0;

  /// A preview of what a running command writes.
  virtual void on_output(const RunId& run, const ToolOutput& output) {
    (void)run;
    (void)output;
  }
};

/// Who listens to which run. Nothing is kept for a run without listeners but the text of the reply under way.
class EventFeed {
 public:
  virtual ~EventFeed() = default;
  /// From now on `sink` gets what is committed; the reply under way comes at once as one delta. Read the
  /// journal up to the present after subscribing, and drop what comes twice by `seq`. The sink is held until
  /// `unsubscribe`.
  virtual void subscribe(const RunId& run, std::shared_ptr<EventSink> sink) = 0;
  virtual void unsubscribe(const RunId& run, const EventSink* sink) = 0;
};

}  // namespace ratchet
