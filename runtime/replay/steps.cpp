#include "runtime/replay/steps.hpp"

namespace ratchet {

/// One event on its way into its step.
class RunSteps::Fold {
 public:
  Fold(RunSteps& to, const Event& event) : to_(to), event_(event) {}

  void operator()(const RunStarted& started) { to_.model_ = started.model; }

  void operator()(const ModelRequested& requested) {
    RunStep& step = here();
    step.attempts = requested.attempt;
    // A compaction is paid for in its step, but is not what the step was about.
    if (requested.purpose == CallPurpose::compaction) return;
    step.provider = requested.provider;
    step.prompt_hash = requested.prompt_hash;
    step.request_hash = requested.request_hash;
    step.replayed = event_.replayed;
  }

  void operator()(const ModelCompleted& completed) {
    RunStep& step = here();
    if (completed.purpose == CallPurpose::step) step.reply = completed;
    charge(step, completed.usage, completed.cost_usd);
  }

  void operator()(const ModelFailed& failed) { charge(here(), failed.charged, failed.charged_usd); }

  void operator()(const ToolRequested& requested) {
    RunStep& step = here();
    to_.calls_[requested.call_id] = {to_.steps_.size() - 1, step.calls.size()};
    step.calls.push_back({requested, std::nullopt, {}, 0, {}});
  }

  void operator()(const ToolResult& result) {
    const auto at = to_.calls_.find(result.call_id);
    if (at == to_.calls_.end())
      return;  // the result of a call that was never judged has no place in the list
    StepCall& call = to_.steps_[at->second.first].calls[at->second.second];
    call.status = result.status;
    call.source = result.source;
    call.latency_ms = result.latency_ms;
    call.result = said_hash(result.content);
  }

  template <class Other>
  void operator()(const Other&) {}

 private:
  RunStep& here() {
    if (to_.steps_.empty() || to_.steps_.back().step != event_.step) {
      to_.steps_.emplace_back();
      to_.steps_.back().step = event_.step;
    }
    return to_.steps_.back();
  }

  void charge(RunStep& step, const Usage& usage, Usd cost) {
    if (event_.replayed) return;
    step.usage += usage;
    step.cost_usd += cost;
  }

  RunSteps& to_;
  const Event& event_;
};

void RunSteps::add(const Event& event) {
  std::visit(Fold(*this, event), event.payload);
}

Hash said_hash(const Content& content) {
  Sha256 hash;
  for (const Block& block : content) {
    hash.add(name(block.type));
    hash.add(block.media_type);
    hash.add((block.artifact ? block.artifact->sha256 : sha256(block.text)).view());
  }
  return hash.finish();
}

}  // namespace ratchet
