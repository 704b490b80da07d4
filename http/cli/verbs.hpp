#pragma once
// What each verb does, once its words are understood.

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "http/cli/api_client.hpp"
#include "http/cli/outcome.hpp"
#include "http/cli/print.hpp"
#include "http/config/server_config.hpp"

namespace ratchet::cli {

/// Where a verb acts and speaks. `out` gets what was asked for, `err` remarks.
struct Context {
  ApiClient& api;
  bool json = false;  ///< print what the API returned, a line each
  Style style;
  std::ostream& out;
  std::ostream& err;
};

using Done = Outcome<ExitStatus>;

/// Registers the agents and tools of files and folders. All are checked before the first is sent.
Done apply_files(Context& context, const std::vector<std::string>& paths);

struct StartOptions {
  std::string agent_id;
  std::uint32_t agent_version = 0;  ///< 0: the one that serves
  std::string input;                ///< the text, @FILE, or - for standard input
  std::string user_token;
  std::string idempotency_key;
  std::vector<std::pair<std::string, std::string>> labels;
  std::optional<std::int64_t> max_steps, max_tokens, max_seconds;
  std::string max_usd;
  bool detach = false;  ///< return once the run is accepted
};

/// Starts a run and follows it to its end.
Done start_run(Context& context, const StartOptions& options);
/// Prints the run that a reply names, and follows it unless it is to be left alone.
Done follow_started(Context& context, const std::string& reply, bool detach);

struct ListOptions {
  std::string status, agent_id, user_id, parent_run_id, stop_reason, since, until, cursor;
  std::uint32_t limit = 50;
};

Done list_runs(Context& context, const ListOptions& options);
/// With the runs that it has started.
Done show_run(Context& context, const std::string& run_id);
/// One step with everything that happened in it.
Done show_step(Context& context, const std::string& run_id, std::uint32_t step);

struct TailOptions {
  std::uint64_t after = 0;
  bool children = false;  ///< with the events of the runs below it
  bool output = false;    ///< with what running commands write
};

Done tail_run(Context& context, const std::string& run_id, const TailOptions& options);
Done cancel_run(Context& context, const std::string& run_id, const std::string& reason);
/// `content` as `StartOptions::input`.
Done send_message(Context& context,
                  const std::string& run_id,
                  const std::string& content,
                  const std::string& idempotency_key);
Done resume_run(Context& context, const std::string& run_id);
/// Gives the run a fresh token of its user.
Done give_token(Context& context, const std::string& run_id, const std::string& user_token);
/// `result` is what the model is told of a call that happened.
Done resolve_call(Context& context,
                  const std::string& run_id,
                  const std::string& call_id,
                  bool happened,
                  const std::string& result);

struct ReplayOptions {
  std::uint32_t from_step = 0;
  std::string patch;  ///< JSON, as `StartOptions::input`; empty: nothing is changed
  std::string tools = "recorded", nondeterminism = "accept_divergence";
  std::string user_token, idempotency_key;
  bool detach = false;
};

/// Runs it again from a step on, and follows the replay to its end.
Done replay_run(Context& context, const std::string& run_id, const ReplayOptions& options);
/// Writes the run to a file; `file` empty: to standard output.
Done export_run(Context& context, const std::string& run_id, const std::string& file, bool full);
Done import_run(Context& context, const std::string& file);
/// Where two runs part, and what differs from there on.
Done diff_runs(Context& context, const std::string& run_id, const std::string& against);

struct ApprovalOptions {
  std::string status, cursor;  ///< of a list
  std::uint32_t limit = 50;
  std::string run_id, approval_id;
  std::string edited_args;  ///< JSON, as `StartOptions::input`; empty: as they are
  std::string comment, args_hash;
};

Done list_approvals(Context& context, const ApprovalOptions& options);
Done show_approval(Context& context, const ApprovalOptions& options);
Done decide_approval(Context& context, const ApprovalOptions& options, bool approve);

/// Decides the runs of these files and folders again and prints where this build would write something else.
/// A run that it cannot read is a failure too.
Done verify_replays(std::ostream& out, const std::vector<std::string>& paths);

/// Makes an API key, prints it once, and the line for the server's configuration that holds its hash.
Done new_key(std::ostream& out,
             const std::string& id,
             const std::string& team,
             const std::vector<Role>& roles);

/// The words of an argument: itself, the bytes of @FILE, or of standard input for -. Failures: usage.
Outcome<std::string> read_argument(const std::string& argument);

}  // namespace ratchet::cli
