// Who is told what of a commit, and which events are rendered for it.

#include "actors/event_hub.hpp"

#include <gmock/gmock.h>

#include "runtime/event/json.hpp"

namespace ratchet {
namespace {

/// Shows events of one type.
class Picky final : public EventSink {
 public:
  explicit Picky(std::string_view type) : type_(type) {}

  bool wants(std::string_view type) const override { return type == type_; }

  void on_events(const RunId&, Batch batch) override { batches.push_back(std::move(batch)); }

  void on_delta(const RunId&, std::uint32_t, std::uint32_t, std::uint64_t, std::string_view) override {}

  std::vector<Batch> batches;

 private:
  std::string_view type_;
};

std::vector<Event> failed_and_resumed() {
  std::vector<Event> events(2);
  events[0].seq = 7;
  events[0].payload = ModelFailed{};
  events[1].seq = 8;
  events[1].payload = RunResumed{};
  return events;
}

TEST(EventHub, RendersOnlyTypesThatSomebodyWantsAndTellsAllHowFarTheRunHasCome) {
  EventHub hub;
  const RunId run;
  const auto of_failures = std::make_shared<Picky>(ModelFailed::type);
  const auto of_ends = std::make_shared<Picky>(RunFinished::type);
  const auto events = failed_and_resumed();
  hub.subscribe(run, of_failures);
  hub.subscribe(run, of_ends);
  hub.publish(run, events);
  ASSERT_EQ(of_ends->batches.size(), 1u);
  ASSERT_EQ(of_failures->batches, of_ends->batches);
  const auto& batch = *of_ends->batches[0];
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_EQ(batch[0].seq, 7u);
  EXPECT_EQ(batch[0].json, to_json(events[0]));
  EXPECT_EQ(batch[1].seq, 8u);
  EXPECT_EQ(batch[1].type, RunResumed::type);
  EXPECT_EQ(batch[1].json, "");
}

}  // namespace
}  // namespace ratchet
