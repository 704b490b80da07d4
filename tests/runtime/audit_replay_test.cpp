// The auditor on replays: each test takes a sound one and breaks it.

#include <algorithm>
#include <functional>

#include "runtime/audit/auditor.hpp"
#include "tests/runtime/run_story.hpp"

namespace ratchet::stories {
namespace {

using Events = std::vector<Event>;

/// Taken over: a step with a call. Live: a read, and a write that is answered from the record.
Events sound_replay(ReplayTools tools) {
  RunStory original;
  original.begin();
  original.replies({call_of("send", R"({"n":1})")});
  original.ends("call_1_1");
  original.replies({call_of("send", R"({"n":2})"), call_of("read", R"({"n":3})")});
  original.ends("call_2_1");
  original.ends("call_2_2");
  original.replies({said("Done.")});
  ReplayOrder order;
  order.origin.from_step = 2;
  order.origin.tools = tools;
  RunStory replay(original, order);
  replay.begin();
  replay.replies({call_of("send", R"({"n":2})"), call_of("read", R"({"n":3})")});
  if (tools == ReplayTools::live) replay.ends("call_2_2");
  replay.replies({said("Done.")});
  EXPECT_TRUE(replay.state().finished());
  return replay.events();
}

std::vector<Violation> audit(Events events, bool renumber = true) {
  for (std::size_t i = 0; renumber && i < events.size(); ++i)
    events[i].seq = i + 1;
  RunStory story;
  Record record;
  record.events = std::move(events);
  Auditor auditor;
  // Plans carry the id of their run; in these journals it is another one, which is invariant 4.
  auditor.add(story.state().run_id, record);
  auto found = auditor.findings();
  std::erase_if(found, [](const Violation& violation) { return violation.invariant == 4; });
  return found;
}

template <class T>
Event& last(Events& events) {
  return *std::find_if(events.rbegin(), events.rend(), [](const Event& event) {
    return std::holds_alternative<T>(event.payload);
  });
}

template <class T>
Event& first(Events& events) {
  return *std::find_if(events.begin(), events.end(), [](const Event& event) {
    return std::holds_alternative<T>(event.payload);
  });
}

ToolResult& result_of(Events& events, std::string_view call_id) {
  for (Event& event : events)
    if (auto* result = std::get_if<ToolResult>(&event.payload); result && result->call_id == call_id)
      return *result;
  throw std::logic_error("there is no such result");
}

ToolRequested& call_of_id(Events& events, std::string_view call_id) {
  for (Event& event : events)
    if (auto* call = std::get_if<ToolRequested>(&event.payload); call && call->call_id == call_id)
      return *call;
  throw std::logic_error("there is no such call");
}

struct Damage {
  const char* what;
  std::function<void(Events&)> apply;
};

const Damage damages[] = {
    {"an external call that was executed",
     [](Events& e) { result_of(e, "call_2_1").source = ResultSource::execution; }},
    {"an external call that is planned",
     [](Events& e) { call_of_id(e, "call_2_2").side_effects = SideEffects::external; }},
    {"an event taken over after a live one", [](Events& e) { last<ModelRequested>(e).replayed = true; }},
    {"a live event among those taken over", [](Events& e) { first<ModelCompleted>(e).replayed = false; }},
    {"a live step before the first",
     [](Events& e) { std::get<RunStarted>(e.front().payload).replay->from_step = 3; }},
    {"a replay of nothing", [](Events& e) { std::get<RunStarted>(e.front().payload).replay.reset(); }},
    {"a replay that does not say of what",
     [](Events& e) { std::get<RunStarted>(e.front().payload).replay_of.reset(); }},
    {"a plan that was taken over", [](Events& e) { last<ToolPlanned>(e).replayed = true; }},
};

TEST(AuditReplay, FindsNothingInSoundOnes) {
  for (const auto tools : {ReplayTools::recorded, ReplayTools::live})
    EXPECT_EQ(audit(sound_replay(tools)), std::vector<Violation>{}) << name(tools);
}

TEST(AuditReplay, FindsEachDamage) {
  for (const Damage& damage : damages) {
    Events events = sound_replay(ReplayTools::live);
    damage.apply(events);
    const auto found = audit(events);
    const bool named =
        std::any_of(found.begin(), found.end(), [](const Violation& each) { return each.invariant == 8; });
    EXPECT_TRUE(named) << damage.what
                       << (found.empty() ? ": nothing was found" : ": " + to_string(found.front()));
  }
}

TEST(AuditReplay, ARecordedReplayPlansNothingWithEffects) {
  Events events = sound_replay(ReplayTools::live);
  std::get<RunStarted>(events.front().payload).replay->tools = ReplayTools::recorded;
  call_of_id(events, "call_2_2").side_effects = SideEffects::internal;
  EXPECT_FALSE(audit(events).empty());
}

TEST(AuditReplay, NoOtherRunIsAnsweredFromARecord) {
  RunStory story;
  story.begin();
  story.replies({call_of("read")});
  story.ends("call_1_1");
  story.replies({said("Done.")});
  Events events = story.events();
  result_of(events, "call_1_1").source = ResultSource::mock;
  const auto found = audit(events);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().invariant, 8);
}

}  // namespace
}  // namespace ratchet::stories
