#pragma once
// The node as the simulator sees it: it executes the actions of RunDrivers exactly as the run actor does, but
// over simulated time, and it can be killed between any two of them. What the journal holds survives;
// everything else does not.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/run/driver.hpp"
#include "tests/sim/simulation.hpp"

namespace ratchet::sim {

class Node {
 public:
  using Answer = std::function<void(Result<Accepted>)>;
  using Started = std::function<void(Result<RunId>)>;

  explicit Node(Simulation& sim) : sim_(sim) {}

  void boot();
  /// Everything in memory is gone. A batch that is being committed becomes durable, or does not.
  void crash();
  /// Announces no more model calls, waits a while for what is under way, and ends.
  void drain();

  /// `answer` is called once, unless the node dies before. Empty: nobody waits for it.
  void command(const RunId& run, Input input, Answer answer);
  void start(const RunStarted& started, const std::string& key, Started answer);

 private:
  struct Waiting {
    Input input;
    Answer answer;
  };

  /// An effect that was started and may still be heard of.
  struct Running {
    std::uint64_t ticket = 0;
    bool ended = false;  ///< it has been heard of, and will be once more
  };

  /// One time that a run is taken up.
  struct Actor {
    std::uint64_t number = 0;
    RunId run;
    RunRow row;
    std::unique_ptr<RunDriver> driver;  ///< none while its claim is written
    std::deque<Waiting> waiting;
    std::map<Token, Waiting> asked;
    std::map<Effect, Running> under_way;
    std::uint64_t wake = 0;
    bool writing = false;
    bool over = false;
  };

  using ActorPtr = std::shared_ptr<Actor>;

  // --- taking runs up, and letting them go (node.cpp)
  ActorPtr spawn(const RunId& run);
  void activate(const ActorPtr& actor, bool after_failure);
  void quarantine(const ActorPtr& actor);
  void take_up(const ActorPtr& actor, const std::vector<Record>& records, bool after_failure);
  void take_over(const RunId& run);
  std::vector<signal::Given> ended_children(const RunDriver& driver);
  void begin(const RunId& run, const std::pair<RunRow, Record>& first);
  void deliver(const ActorPtr& actor, Waiting waiting);
  void end(const ActorPtr& actor);
  void watch_clock();
  void look_at_clock();

  // --- carrying out what a driver says (node_actions.cpp)
  void give(const ActorPtr& actor, Signal signal);
  void execute(const ActorPtr& actor, std::vector<Action> actions);
  void compare(const ActorPtr& actor);
  void act(const ActorPtr& actor, action::Append& append);
  void act(const ActorPtr& actor, action::StartModel& start);
  void act(const ActorPtr& actor, action::StartCall& start);
  void act(const ActorPtr& actor, action::PrepareChild& prepare);
  void act(const ActorPtr& actor, action::TellRun& telling);
  void act(const ActorPtr& actor, action::StartJudging& start);
  void act(const ActorPtr& actor, action::StartBriefing& start);
  void act(const ActorPtr& actor, action::Stop& stop);
  void act(const ActorPtr& actor, action::Answer& answer);
  void act(const ActorPtr& actor, action::Publish& publish);
  void act(const ActorPtr& actor, action::WakeAt& wake);
  void act(const ActorPtr& actor, action::Reload& reload);
  void act(const ActorPtr& actor, action::Passivate& passivate);
  void act(const ActorPtr& actor, action::GiveUp& gone);
  CallEnd run_builtin(const ActorPtr& actor, const action::StartCall& start);
  void edit_files(const ActorPtr& actor,
                  const action::StartCall& start,
                  const std::function<void(CallEnd)>& done);
  void require_nothing_under_way(const Actor& actor, std::string_view when);
  void require_no_living_child(const RunId& parent);
  void complete(const ActorPtr& actor, const Effect& effect, std::uint64_t ticket, const Input& input);

  // --- the journal writer
  struct Write {
    Commit commit;
    std::function<void(Result<Committed>)> done;
  };

  void write(Commit commit, std::function<void(Result<Committed>)> done);
  void flush();
  Result<Committed> commit_one(const Commit& commit);

  Simulation& sim_;
  bool up_ = false, draining_ = false;
  std::uint64_t life_ = 0;  ///< rises with every boot: tasks of an earlier life do nothing
  std::uint64_t made_ = 0;
  HeadCache heads_;
  std::map<RunId, ActorPtr> actors_;
  std::vector<ActorPtr> zombies_;  ///< still alive, although their run was taken over
  std::deque<Write> writes_;
  bool flushing_ = false;
  int crashes_ = 0;
};

}  // namespace ratchet::sim
