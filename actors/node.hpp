#pragma once
// The node: the actors, their threads and what they share, behind `Node`. CAF does not show here.

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/launcher.hpp"
#include "actors/sandboxes/sandboxes.hpp"
#include "runtime/agent.hpp"
#include "runtime/journal.hpp"
#include "runtime/log.hpp"
#include "runtime/model/client.hpp"
#include "runtime/node.hpp"
#include "runtime/observer.hpp"
#include "runtime/tools/connector.hpp"
#include "runtime/tools/facts.hpp"
#include "runtime/tools/token_exchange.hpp"
#include "runtime/webhook.hpp"

namespace ratchet {

struct NodeOptions {
  // All borrowed; they outlive the node.
  Journal* journal = nullptr;
  AgentCatalog* catalog = nullptr;
  ModelClient* models = nullptr;
  Connector* connector = nullptr;
  Judge* judge = nullptr;        ///< none: nobody is asked, and no version may need it
  Reviewer* reviewer = nullptr;  ///< none: results that hooks are to see are withheld, model calls not made
  Clock* clock = nullptr;

  RecordPacker pack = nullptr;
  bool decision_point = false;                    ///< `judge` asks one about every call
  std::optional<ExchangeEndpoint> exchange = {};  ///< where users' tokens are exchanged for a tool's audience
  std::map<std::string, ServedModel> served;      ///< by name
  std::size_t concurrent_runs = 20'000;           ///< that hold an actor
  std::size_t runs_per_team = 5'000;
  std::size_t workers = 0;  ///< scheduler threads; 0: one per core
  std::string harness_version;
  Log log = [](LogLevel, const std::string&) {};
  CommitObserver* observer = nullptr;                ///< borrowed; told of every commit of a run
  std::vector<WebhookSecret> webhook_secrets = {};   ///< sign what is posted; none: it is not signed
  SandboxOptions sandboxes = {};                     ///< none: tools of the tiers 2 and 3 are refused
  HookObserver* deliveries = nullptr;                ///< borrowed; told of every attempt to post
  std::vector<std::string> http_get_endpoints = {};  ///< host:port each, that `http_get` may reach
  bool replay_environment = false;                   ///< replays may execute `internal` tools
};

class CafNode final : public Node {
 public:
  /// Starts the threads. Runs are taken up by `recover`.
  explicit CafNode(NodeOptions options);
  /// Ends at once what has not been drained: as after a crash, the journal has everything.
  ~CafNode() override;

  /// Takes up every unfinished run. Call once, when events may be published.
  void recover();
  EventFeed& feed();

  void start_run(StartRun command, Reply<RunAccepted> reply) override;
  void replay_run(ReplayRun command, Reply<RunAccepted> reply) override;
  void import_run(ImportRun command, Reply<RunAccepted> reply) override;
  void send_message(SendMessage command, Reply<Accepted> reply) override;
  void cancel_run(CancelRun command, Reply<Accepted> reply) override;
  void resolve_call(ResolveCall command, Reply<Accepted> reply) override;
  void resume_run(ResumeRun command, Reply<Accepted> reply) override;
  void decide_approval(DecideApproval command, Reply<Accepted> reply) override;
  void replace_user_token(ReplaceUserToken command, Reply<Accepted> reply) override;
  void put_definitions(std::vector<DefinitionPut> puts, Reply<Committed> reply) override;
  void drain(std::int64_t timeout_ms) override;
  bool recovered() const override;
  NodeStats stats() const override;
  TierStatus sandbox_tier(std::uint32_t tier) const override;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace ratchet
