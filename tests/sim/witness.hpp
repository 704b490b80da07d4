#pragma once
// The witness knows what is durable, because it stands behind the journal, and judges what the node does at
// the moment it does it: nothing may be said, sent or started before the events that announce it are there.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/run/driver.hpp"

namespace ratchet::sim {

class Witness {
 public:
  struct Run {
    std::vector<Record> records;
    std::vector<Event> events;
    std::vector<ArtifactId> artifacts;
  };

  /// What a client was told, in the words of its command.
  struct Promise {
    RunId run;
    Input input;
    std::uint64_t seq = 0;
  };

  /// A commit became durable.
  void wrote(const RunAppend& append);
  /// The node tells subscribers of these events; `activation` names who speaks.
  void published(const RunId& run, std::uint64_t activation, const std::vector<Event>& events);
  /// A client gets a good answer.
  void promised(Promise promise);
  /// An attempt of a model call leaves the node.
  void sent(const ModelCall& call);
  /// An execution of a tool call leaves the node.
  void started(const RunId& run, const action::StartCall& start);

  const Run& run(const RunId& run) { return runs_[run]; }

  const std::map<RunId, Run>& runs() const { return runs_; }

  const std::vector<Promise>& promises() const { return promises_; }

  void complain(std::string text);

  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  template <class T>
  const T* find_last(const RunId& run, auto&& matches) const;

  std::map<RunId, Run> runs_;
  std::map<std::uint64_t, std::uint64_t> spoken_;  ///< by activation: the last seq it has told of
  std::map<std::string, std::uint32_t> starts_;    ///< by key
  std::vector<Promise> promises_;
  std::vector<std::string> complaints_;
};

/// True if `event` is what a promise with this input speaks of.
bool keeps(const Event& event, const Input& input);

}  // namespace ratchet::sim
