// The auditor finds what is wrong with a journal: each test takes a sound one and breaks it.

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "runtime/audit/auditor.hpp"
#include "runtime/limits.hpp"
#include "tests/runtime/run_story.hpp"

namespace ratchet::stories {
namespace {

/// A run with three steps: two calls, a call in doubt that a person resolves, and an answer.
std::vector<Event> sound_journal() {
  RunStory story;
  story.begin();
  story.fails(FailureClass::transient, 0);
  story.is_told("Also this.", "key");
  story.replies({said("I look."), call_of("read"), call_of("send")});
  story.ends("call_1_2");
  story.ends("call_1_1");
  story.replies({call_of("publish")});
  story.gets_lost("call_2_1");
  story.pass_ms(1'000);
  story.resolves("call_2_1", CallOutcome::happened);
  story.replies({said("Done.")});
  EXPECT_TRUE(story.state().finished());
  return story.events();
}

std::vector<Violation> audit(const std::vector<Record>& records) {
  RunStory story;
  Auditor auditor;
  for (const Record& record : records)
    auditor.add(story.state().run_id, record);
  return auditor.findings();
}

/// As one record, with a chain of its own.
std::vector<Violation> audit(const std::vector<Event>& events) {
  Record record;
  record.events = events;
  return audit(std::vector{record});
}

template <class T>
T& first(std::vector<Event>& events) {
  for (Event& event : events)
    if (T* payload = std::get_if<T>(&event.payload)) return *payload;
  throw std::logic_error("the journal has no such event");
}

template <class T>
std::size_t place_of(const std::vector<Event>& events) {
  std::size_t at = 0;
  while (!std::holds_alternative<T>(events.at(at).payload))
    ++at;
  return at;
}

void renumber(std::vector<Event>& events) {
  for (std::size_t i = 0; i < events.size(); ++i)
    events[i].seq = i + 1;
}

template <class T>
void erase_first(std::vector<Event>& events) {
  events.erase(events.begin() + static_cast<std::ptrdiff_t>(place_of<T>(events)));
  renumber(events);
}

template <class T>
void repeat_first(std::vector<Event>& events) {
  const std::size_t at = place_of<T>(events);
  events.insert(events.begin() + static_cast<std::ptrdiff_t>(at) + 1, Event(events[at]));
  renumber(events);
}

struct Damage {
  const char* what;
  int invariant;
  std::function<void(std::vector<Event>&)> apply;
};

using Events = std::vector<Event>;

const Damage damages[] = {
    {"a gap", 1, [](Events& e) { e[4].seq = 6; }},
    {"an event after the end", 1, [](Events& e) { e.push_back(e[2]), renumber(e); }},
    {"two beginnings", 1, [](Events& e) { repeat_first<RunStarted>(e); }},
    {"a lease that falls", 1, [](Events& e) { e[3].lease_version = 0; }},
    {"an event of another step", 1, [](Events& e) { e[3].step = 9; }},
    {"a reply that nobody asked for", 2, [](Events& e) { erase_first<ModelRequested>(e); }},
    {"two outcomes of an attempt", 2, [](Events& e) { repeat_first<ModelFailed>(e); }},
    {"an attempt without an outcome", 2, [](Events& e) { erase_first<ModelFailed>(e); }},
    {"an attempt that counts wrongly", 2, [](Events& e) { first<ModelRequested>(e).attempt = 2; }},
    {"a call without a result", 2, [](Events& e) { erase_first<ToolResult>(e); }},
    {"two results of a call", 2, [](Events& e) { repeat_first<ToolResult>(e); }},
    {"a result of no call", 2, [](Events& e) { first<ToolResult>(e).call_id = "call_9_9"; }},
    {"a call that was never asked for", 2, [](Events& e) { erase_first<ToolRequested>(e); }},
    {"a call in a cut-off reply",
     2,
     [](Events& e) { first<ModelCompleted>(e).stop_reason = ModelStop::max_tokens; }},
    {"a message taken twice", 2, [](Events& e) { repeat_first<MessageReceived>(e); }},
    {"an end that leaves a message unread",
     2,
     [](Events& e) {
       e.insert(e.end() - 1,
                Event{0, e.back().at, e.back().step, 1, MessageReceived{text_content("late"), "x", "", {}}});
       renumber(e);
     }},
    {"a cancel nobody asked for",
     2,
     [](Events& e) { first<RunFinished>(e).stop_reason = StopReason::cancelled; }},
    {"an execution that was not planned", 3, [](Events& e) { erase_first<ToolPlanned>(e); }},
    {"a plan against the verdict",
     3,
     [](Events& e) { first<ToolRequested>(e).verdict.decision = Decision::ask; }},
    {"an allow against the schema", 3, [](Events& e) { first<ToolRequested>(e).verdict.schema = "no"; }},
    {"other arguments than the reply's", 3, [](Events& e) { first<ToolRequested>(e).args.text = "{}"; }},
    {"other arguments than judged", 3, [](Events& e) { first<ToolPlanned>(e).args_hash = sha256("x"); }},
    {"a call in doubt that is settled", 3, [](Events& e) { erase_first<CallResolved>(e); }},
    {"a resumption before the word",
     3,
     [](Events& e) { first<CallResolved>(e).outcome = CallOutcome::did_not_happen; }},
    {"a pause for nothing", 3, [](Events& e) { first<RunPaused>(e).call_ids.clear(); }},
    {"another key", 4, [](Events& e) { first<ToolPlanned>(e).idempotency_key += "x"; }},
    {"an attempt that is skipped", 4, [](Events& e) { first<ToolPlanned>(e).attempt = 2; }},
    {"a reservation above the budget",
     5,
     [](Events& e) { first<ModelRequested>(e).reserved.tokens = 300'000; }},
    {"a reservation that is too small", 5, [](Events& e) { first<ModelRequested>(e).reserved.usd = Usd{1}; }},
    {"a reply that costs less than it did", 5, [](Events& e) { first<ModelCompleted>(e).cost_usd = Usd{1}; }},
    {"a lost attempt that costs nothing",
     5,
     [](Events& e) { first<ModelFailed>(e).kind = FailureClass::lost; }},
    {"totals that do not add up", 5, [](Events& e) { first<RunFinished>(e).usage.output += 1; }},
    {"a deadline that moves too far", 5, [](Events& e) { first<RunResumed>(e).deadline_at.us += 1; }},
    {"a call after an overrun",
     5,
     [](Events& e) {
       first<ModelCompleted>(e).usage.output = 300'000;
       first<ModelCompleted>(e).cost_usd.nano += (300'000 - 10) * 15'000ll;
     }},
    {"a call after the deadline", 5, [](Events& e) { first<RunStarted>(e).deadline_at = e[0].at; }},
};

TEST(Auditor, FindsNothingInASoundJournal) {
  EXPECT_EQ(audit(sound_journal()), std::vector<Violation>{});
}

TEST(Auditor, FindsEachDamage) {
  for (const Damage& damage : damages) {
    std::vector<Event> events = sound_journal();
    damage.apply(events);
    const std::vector<Violation> found = audit(events);
    const bool named = std::any_of(found.begin(), found.end(), [&](const Violation& violation) {
      return violation.invariant == damage.invariant;
    });
    EXPECT_TRUE(named) << damage.what
                       << (found.empty() ? ": nothing was found" : ": " + to_string(found.front()));
  }
}

/// A run whose context is compacted once, after one reply that was no note.
std::vector<Event> compacted_journal() {
  Setting setting;
  setting.model.context_window_tokens = 12'000;
  setting.budgets.max_tokens = 10'000'000;
  RunStory story(setting);
  const auto reply = [&](std::vector<ReplyBlock> content) {
    story.replies(std::move(content),
                  ModelStop::end_turn,
                  Usage{story.latest<ModelRequested>().estimated_tokens, 0, 0, 10});
  };
  story.begin();
  while (story.state().model.purpose == CallPurpose::step) {
    reply({call_of("read")});
    story.ends(story.state().calls.front().call_id, std::string(4'000, '1'));
  }
  reply({});
  reply({said("## Goal")});
  reply({said("Done.")});
  EXPECT_TRUE(story.finished(StopReason::final_answer));
  return story.events();
}

TEST(Auditor, FindsWhatIsWrongWithACompaction) {
  EXPECT_EQ(audit(compacted_journal()), std::vector<Violation>{});
  const Damage all[] = {
      {"covers more than was shown", 6, [](Events& e) { first<ContextCompacted>(e).up_to_seq += 1; }},
      {"gains nothing",
       6,
       [](Events& e) { first<ContextCompacted>(e).tokens_after = first<ContextCompacted>(e).tokens_before; }},
      {"has no note", 6, [](Events& e) { first<ContextCompacted>(e).summary.clear(); }},
      {"happens twice", 6, [](Events& e) { repeat_first<ContextCompacted>(e); }},
      {"never happens, twice", 6, [](Events& e) { erase_first<ContextCompacted>(e); }},
      {"is asked for about nothing",
       6,
       [](Events& e) {
         for (Event& event : e)
           if (auto* asked = std::get_if<ModelRequested>(&event.payload)) asked->up_to_seq = 0;
       }},
      {"comes of a reply to a step",
       6,
       [](Events& e) {
         for (Event& event : e)
           if (auto* reply = std::get_if<ModelCompleted>(&event.payload)) reply->purpose = CallPurpose::step;
       }},
      {"opens a step",
       2,
       [](Events& e) {
         for (Event& event : e)
           if (auto* asked = std::get_if<ModelRequested>(&event.payload))
             asked->purpose = CallPurpose::compaction;
       }},
  };
  for (const Damage& damage : all) {
    std::vector<Event> events = compacted_journal();
    damage.apply(events);
    const std::vector<Violation> found = audit(events);
    const bool named = std::any_of(found.begin(), found.end(), [&](const Violation& violation) {
      return violation.invariant == damage.invariant;
    });
    EXPECT_TRUE(named) << damage.what << (found.empty() ? "" : ": " + to_string(found.front()));
  }
}

TEST(Auditor, FollowsTheChainOverRecords) {
  const std::vector<Event> events = sound_journal();
  Record one, two;
  one.events = {events.begin(), events.begin() + 5};
  two.events = {events.begin() + 5, events.end()};
  two.salt[0] = 1;
  two.head_before = chain_head(one);
  EXPECT_TRUE(audit({one, two}).empty());
  Record changed = one;
  changed.events[3].at.us += 1;
  EXPECT_EQ(audit({changed, two}).front().invariant, 1);
  two.salt = one.salt;
  EXPECT_EQ(audit({one, two}).front().invariant, 1) << "a salt that is used twice";
}

TEST(Auditor, ComparesTheRow) {
  RunStory story;
  Record record;
  record.events = story.events();
  Auditor auditor;
  auditor.add(story.state().run_id, record);
  auditor.expect(story.state().run_id, 1, chain_head(record));
  EXPECT_TRUE(auditor.findings().empty());
  auditor.expect(story.state().run_id, 2, chain_head(record));
  auditor.expect(story.state().run_id, 1, sha256("another"));
  EXPECT_EQ(auditor.findings().size(), 2u);
}

TEST(Auditor, ListsABoundedNumberOfFindings) {
  std::vector<Event> events = sound_journal();
  while (events.size() < 2'000)
    events.push_back(events.back());
  renumber(events);
  EXPECT_EQ(audit(events).size(), limits::audit_violations_max);
}

}  // namespace
}  // namespace ratchet::stories
