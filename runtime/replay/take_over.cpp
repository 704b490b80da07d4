#include "runtime/replay/take_over.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ratchet {

namespace {

/// Opens the step: what comes before it is the record, and it is the first that is live.
bool opens(const Event& event, std::uint32_t step) {
  const auto* requested = std::get_if<ModelRequested>(&event.payload);
  return requested && event.step == step && requested->purpose == CallPurpose::step &&
         requested->attempt == 1;
}

/// One overload for each type that is taken; the others are left.
class Taker {
 public:
  explicit Taker(bool other_model) : other_model_(other_model) {}

  bool operator()(MessageReceived&) const { return true; }

  bool operator()(ModelRequested& requested) const {
    if (other_model_) requested.provider = 0;
    return true;
  }

  bool operator()(ModelCompleted& completed) const {
    if (other_model_)
      std::erase_if(completed.content,
                    [](const ReplyBlock& block) { return block.type == ReplyBlockType::reasoning; });
    return true;
  }

  bool operator()(ModelFailed& failed) const {
    if (other_model_ && failed.next_provider) failed.next_provider = 0;
    return true;
  }

  bool operator()(ToolRequested&) const { return true; }

  bool operator()(ToolResult&) const { return true; }

  bool operator()(ApprovalRequired&) const { return true; }

  bool operator()(ApprovalDecided&) const { return true; }

  bool operator()(ContextCompacted&) const { return true; }

  template <class Other>
  bool operator()(Other&) const {
    return false;
  }

 private:
  bool other_model_;
};

/// The numbers that events of the record have in the replay.
class Renumbering {
 public:
  void took(std::uint64_t original, std::uint64_t taken) { taken_.emplace_back(original, taken); }

  /// Of the last event up to this one that was taken.
  std::uint64_t up_to(std::uint64_t original) const {
    const auto after =
        std::upper_bound(taken_.begin(), taken_.end(), original, [](std::uint64_t seq, const auto& pair) {
          return seq < pair.first;
        });
    return after == taken_.begin() ? 1 : std::prev(after)->second;
  }

 private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> taken_;
};

}  // namespace

Result<std::vector<Event>> take_over(std::span<const Event> original,
                                     std::uint32_t from_step,
                                     bool other_model,
                                     Timestamp now) {
  const auto cut = std::find_if(
      original.begin(), original.end(), [&](const Event& event) { return opens(event, from_step); });
  if (cut == original.end())
    return fail(ErrorCode::unknown_step, fmt::format("the run has no step {}", from_step));
  std::vector<Event> taken;
  const Taker take(other_model);
  Renumbering numbers;
  for (auto at = original.begin(); at != cut; ++at) {
    Event event = *at;
    if (!std::visit(take, event.payload)) continue;
    if (auto* compacted = std::get_if<ContextCompacted>(&event.payload))
      compacted->up_to_seq = numbers.up_to(compacted->up_to_seq);
    auto* requested = std::get_if<ModelRequested>(&event.payload);
    if (requested && requested->up_to_seq > 0) requested->up_to_seq = numbers.up_to(requested->up_to_seq);
    event.seq = taken.size() + 2;
    event.at = now;
    event.lease_version = 1;
    event.replayed = true;
    numbers.took(at->seq, event.seq);
    taken.push_back(std::move(event));
  }
  return taken;
}

std::vector<Hash> snapshots_of(std::span<const Event> events) {
  std::vector<Hash> snapshots;
  for (const Event& event : events) {
    const auto* result = std::get_if<ToolResult>(&event.payload);
    if (!result || !result->workspace) continue;
    if (std::find(snapshots.begin(), snapshots.end(), *result->workspace) == snapshots.end())
      snapshots.push_back(*result->workspace);
  }
  return snapshots;
}

}  // namespace ratchet
