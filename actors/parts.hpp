#pragma once
// What the actors of a node share. All of it outlives them.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "actors/event_hub.hpp"
#include "actors/journal_writer.hpp"
#include "actors/launcher.hpp"
#include "actors/model_gateway.hpp"
#include "actors/outbox.hpp"
#include "actors/timer.hpp"
#include "actors/tool_broker.hpp"
#include "runtime/agent.hpp"
#include "runtime/log.hpp"
#include "runtime/observer.hpp"
#include "runtime/run/driver.hpp"

namespace ratchet {

/// Tool books by version: compiled once, while some run uses them.
class BookShelf {
 public:
  BookShelf(AgentCatalog& catalog, JournalReader& journal) : catalog_(catalog), journal_(journal) {}

  /// Of the version by which the run goes; that of a replay is its own. Called from any thread. Errors: those
  /// of `version_of` and of `ToolBook::make`.
  Result<std::shared_ptr<const ToolBook>> get(const RunRow& row);

 private:
  AgentCatalog& catalog_;
  JournalReader& journal_;
  std::mutex mutex_;
  std::map<const AgentVersion*, std::weak_ptr<const ToolBook>> books_;
};

/// How many runs hold an actor, over all and by team. A run is counted before it is accepted and until it
/// waits or ends.
class Admission {
 public:
  Admission(std::size_t runs_max, std::size_t runs_per_team_max)
      : max_(runs_max), per_team_max_(runs_per_team_max) {}

  /// Errors: too_many_runs.
  Result<void> enter(const std::string& team);
  /// For a run that exists already: it goes on whatever the limits say.
  void enter_anyway(const std::string& team);
  void leave(const std::string& team);
  std::size_t active() const;

 private:
  mutable std::mutex mutex_;
  std::size_t max_, per_team_max_, active_ = 0;
  std::map<std::string, std::size_t> teams_;
};

struct NodeParts {
  Clock& clock;
  JournalReader& journal;
  JournalWriter& writer;
  BookShelf& books;
  Launcher& launcher;
  DriverParts driver;
  ModelGateway& models;
  ToolBroker& broker;
  Judge& judge;
  Reviewer& reviewer;
  std::function<void()> wake_outbox;  ///< also after the outbox has gone
  EventHub& hub;
  Timer& timer;
  Admission& admission;
  Log log;
  CommitObserver* observer = nullptr;  ///< told of every commit, where there is one
  bool replay_environment = false;     ///< the server is there for replays only

  Stamp stamp() const { return {clock.now(), system_entropy()}; }
};

}  // namespace ratchet
