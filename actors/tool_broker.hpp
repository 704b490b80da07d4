#pragma once
// Executes tool calls: connectors over HTTP, with the user's credential where a tool acts as the user, tools
// of the tiers 2 and 3 in sandboxes, and the built-in tools that read artifacts on a thread of their own,
// because a search may take long and scheduler threads must not block. It decides nothing: whether a call may
// run was decided, and journaled, before it is asked.

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "actors/credentials.hpp"
#include "actors/rate_limiter.hpp"
#include "actors/sandboxes/sandboxes.hpp"
#include "runtime/journal.hpp"
#include "runtime/replay/rule.hpp"
#include "runtime/run/driver.hpp"
#include "runtime/tools/builtin.hpp"
#include "runtime/tools/connector.hpp"

namespace ratchet {

class ToolBroker {
 public:
  /// Whose call it is.
  struct Caller {
    RunId run, root;
    std::string_view team, user_id;
    std::optional<ReplayRule> replay = {};  ///< of a replay: what it may execute, and nothing else
  };

  using Ticket = std::uint64_t;
  using OnDone = std::function<void(CallEnd)>;
  using OnOutput = Sandboxes::OnOutput;

  /// All are borrowed but `http_get_endpoints`, which `http_get` may reach.
  ToolBroker(JournalReader& journal,
             Connector& connector,
             Clock& clock,
             Credentials& credentials,
             Sandboxes& sandboxes,
             std::vector<std::string> http_get_endpoints);
  ~ToolBroker();
  ToolBroker(const ToolBroker&) = delete;
  ToolBroker& operator=(const ToolBroker&) = delete;

  /// Starts the execution and returns at once. `done` is called once, on another thread or on this one,
  /// unless `cancel` came before. `on_output` gets what a command in a sandbox writes, as it comes, on
  /// another thread. From any thread.
  Ticket start(const Caller& caller, const action::StartCall& call, OnDone done, OnOutput on_output = {});
  /// After it returns, `done` does not begin any more. True: nothing of the call is left running. False:
  /// something still ends, and `gone` is called when it has. From any thread.
  bool cancel(Ticket ticket, std::function<void()> gone = [] {});
  /// The run rests: what is kept for its calls (sandboxes, the open workspace) is given back.
  void release(const RunId& run);

 private:
  struct Job {
    Ticket ticket;
    std::function<CallEnd()> work;
    OnDone done;
  };

  /// A call of a connector on its way: first its credential is made, then it is sent.
  struct Request {
    Connector::Ticket at_connector = 0;
    Credentials::Ticket at_credentials = 0;
  };

  struct Sending;
  /// The inputs of a run that are kept as artifacts. One that is larger than a command's input may be, or
  /// that cannot be read now, is not among them: the artifact tools have it.
  std::vector<WorkspaceFile> inputs_of(const RunId& run);
  void start_sandboxed(
      Ticket ticket, const Caller& caller, const action::StartCall& call, OnDone done, OnOutput on_output);
  void start_request(Ticket ticket, const Caller& caller, const action::StartCall& call, OnDone done);
  /// Why the call has to wait, by the rate limit of its tool; empty: it is counted and may go. Further
  /// attempts of a call are part of it: refused, they would leave it in doubt.
  std::string over_rate(const Caller& caller, const action::StartCall& call);
  void add_credential(Ticket ticket,
                      const RunId& run,
                      const action::StartCall& call,
                      const std::shared_ptr<Sending>& sending);
  void credential_came(Ticket ticket, const std::shared_ptr<Sending>& sending, ExchangeAnswer answer);
  void send(Ticket ticket, const std::shared_ptr<Sending>& sending);
  /// Takes the request out and tells its end, unless it was cancelled.
  void end(Ticket ticket, Sending& sending, CallEnd end);
  CallEnd read_artifact(const RunId& run,
                        const RunId& root,
                        const std::string& tool,
                        const std::string& args,
                        const ArtifactBounds& bounds);
  void run_jobs();

  JournalReader& journal_;
  Connector& connector_;
  Clock& clock_;
  Credentials& credentials_;
  Sandboxes& sandboxes_;
  const std::vector<std::string> http_get_endpoints_;
  RateLimiter rates_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Ticket last_ticket_ = 0;
  std::unordered_map<Ticket, Request> requests_;
  std::unordered_map<Ticket, Sandboxes::Ticket> sandboxed_;  ///< 0: it is just being started
  std::deque<Job> jobs_;
  std::unordered_set<Ticket> live_jobs_;
  bool stopping_ = false;
  std::thread worker_;
};

}  // namespace ratchet
