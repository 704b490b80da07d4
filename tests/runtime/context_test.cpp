// What a model is sent: growing by appending, proven by hashes, derived again from the journal.

#include <functional>

#include "runtime/context/inspect.hpp"
#include "runtime/json/canonical.hpp"
#include "runtime/model/wire.hpp"
#include "tests/runtime/run_story.hpp"

namespace ratchet::stories {
namespace {

Setting speaking(Protocol protocol) {
  Setting setting;
  setting.model.providers[0].protocol = protocol;
  setting.budgets.max_steps = 100;
  setting.budgets.max_tokens = 10'000'000;
  setting.budgets.max_usd = Usd{1'000'000'000'000};
  setting.budgets.max_seconds = 1'000'000;
  return setting;
}

std::string joined(const Body& body) {
  std::string bytes;
  for (const auto& piece : body)
    bytes += *piece;
  return bytes;
}

std::string last_request(const RunStory& story) {
  const ModelRequested& requested = story.latest<ModelRequested>();
  return joined(story.context().render(requested.max_tokens, requested.late_text));
}

/// The part of a request that later ones begin with.
std::string history_of(const RunStory& story) {
  const ModelRequested& requested = story.latest<ModelRequested>();
  const ProviderConfig& provider = story.state().started->model.providers[requested.provider];
  std::string bytes = last_request(story);
  for (std::size_t at = 0; (at = bytes.find(cache_mark, at)) != std::string::npos;)
    bytes.erase(at, cache_mark.size());
  const std::string tail = render_tail(provider, requested.max_tokens, requested.late_text, true);
  EXPECT_TRUE(bytes.ends_with(tail));
  bytes.resize(bytes.size() - std::min(tail.size(), bytes.size()));
  return bytes;
}

int marks_in(const std::string& bytes) {
  int marks = 0;
  for (std::size_t at = 0; (at = bytes.find(cache_mark, at)) != std::string::npos; at += cache_mark.size())
    ++marks;
  return marks;
}

/// A story of many steps, in which chance says how many calls each reply makes, who speaks between, and what
/// fails. `look` is called after each request.
void tell(RunStory& story, std::uint64_t seed, const std::function<void()>& look) {
  const auto below = [&seed](std::uint64_t bound) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (seed >> 11) % bound;
  };
  story.begin();
  look();
  for (int step = 1; step <= 12; ++step) {
    if (below(4) == 0) story.is_told("Somebody says \"" + std::to_string(step) + "\" – naïve 🏷");
    if (below(5) == 0) {
      story.fails(FailureClass::transient, 0);
      look();
    }
    if (below(6) == 0) {
      story.recovers();
      look();
    }
    std::vector<ReplyBlock> reply;
    if (below(2))
      reply.push_back(
          {ReplyBlockType::reasoning, R"({"type":"thinking","thinking":"hm"})", {}, {}, {}, {}, {}});
    if (below(2)) reply.push_back(said("I call."));
    const std::uint64_t calls = below(8) == 0 ? 22 : 1 + below(3);
    for (std::uint64_t i = 0; i < calls; ++i)
      reply.push_back(call_of("read"));
    story.replies(reply);
    for (std::uint64_t i = calls; i-- > 0;) {
      if (below(6) == 0) story.is_told("In between.");
      story.ends("call_" + std::to_string(step) + "_" + std::to_string(i + 1),
                 std::string(below(12'000), 'r'));
    }
    look();
  }
}

class EachProtocol : public testing::TestWithParam<Protocol> {};

TEST_P(EachProtocol, SendsWhatWasProvenBeforeItWasDecided) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    RunStory story(speaking(GetParam()));
    tell(story, seed * 0x9e3779b97f4a7c15, [&] {
      EXPECT_EQ(to_string(sha256(last_request(story))),
                to_string(story.latest<ModelRequested>().request_hash));
      EXPECT_EQ(to_string(sha256(history_of(story))), to_string(story.latest<ModelRequested>().prompt_hash));
    });
  }
}

TEST_P(EachProtocol, BeginsEachRequestWithTheOneBefore) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    RunStory story(speaking(GetParam()));
    std::string before;
    tell(story, seed * 0x9e3779b97f4a7c15, [&] {
      const std::string history = history_of(story);
      EXPECT_TRUE(history.starts_with(before));
      before = history;
    });
  }
}

TEST_P(EachProtocol, DerivesEveryRequestFromTheJournalAgain) {
  RunStory story(speaking(GetParam()));
  std::vector<std::pair<Event, std::string>> sent;
  tell(story, 42, [&] {
    for (auto event = story.events().rbegin(); event != story.events().rend(); ++event) {
      if (!std::holds_alternative<ModelRequested>(event->payload)) continue;
      sent.emplace_back(*event, last_request(story));
      break;
    }
  });
  for (const auto& [event, bytes] : sent) {
    const auto derived = request_bytes(
        story.agent(), story.events(), event.step, std::get<ModelRequested>(event.payload).attempt);
    ASSERT_TRUE(derived) << derived.error().text;
    EXPECT_EQ(*derived, bytes);
  }
}

TEST_P(EachProtocol, SendsOneJsonObject) {
  RunStory story(speaking(GetParam()));
  tell(story, 7, [&] {
    const auto canonical = canonical_object(last_request(story));
    EXPECT_TRUE(canonical) << canonical.error().text;
  });
}

TEST_P(EachProtocol, FoldsToTheSameWhetherLiveOrFromTheJournal) {
  RunStory story(speaking(GetParam()));
  tell(story, 3, [] {});
  const RunStarted& started = *story.state().started;
  Context folded(make_head(story.agent(), started.model, started.settings, 0), started.model.providers[0], 0);
  for (const Event& event : story.events())
    folded.apply(event);
  EXPECT_EQ(joined(folded.render(9, "late")), joined(story.context().render(9, "late")));
  EXPECT_EQ(folded.bytes(), story.context().bytes());
}

INSTANTIATE_TEST_SUITE_P(Context,
                         EachProtocol,
                         testing::Values(Protocol::anthropic, Protocol::openai, Protocol::scripted),
                         [](const auto& protocol) { return std::string(name(protocol.param)); });

TEST(Context, MarksAtMostFourPlacesForTheCache) {
  RunStory story(speaking(Protocol::anthropic));
  int most = 0;
  tell(story, 11, [&] {
    most = std::max(most, marks_in(last_request(story)));
    EXPECT_LE(marks_in(last_request(story)), 4) << "the provider refuses more";
  });
  EXPECT_EQ(most, 4);
}

TEST(Context, MarksNothingForOtherProtocols) {
  RunStory story(speaking(Protocol::openai));
  tell(story, 11, [&] { EXPECT_EQ(marks_in(last_request(story)), 0); });
}

TEST(Context, HashesEqualPromptsOfDifferentRunsTheSame) {
  std::vector<std::string> hashes;
  for (const std::int64_t later_ms : {0, 3'600'000}) {
    RunStory story(speaking(Protocol::anthropic));
    story.pass_ms(later_ms);
    story.begin();
    story.replies({call_of("read", R"({"n":1})")});
    story.pass_ms(later_ms);
    story.ends("call_1_1", "the same");
    hashes.push_back(to_string(story.latest<ModelRequested>().prompt_hash));
    hashes.push_back(to_string(story.latest<ModelRequested>().request_hash));
  }
  EXPECT_EQ(hashes[0], hashes[2]);
  EXPECT_NE(hashes[1], hashes[3]) << "the late text tells the time, and is no part of the prompt";
}

TEST(Context, HoldsLateTextOutOfTheHistory) {
  RunStory story(speaking(Protocol::anthropic));
  story.begin();
  EXPECT_NE(last_request(story).find("[Now: "), std::string::npos);
  story.replies({call_of("read")});
  story.pass_ms(120'000);
  story.ends("call_1_1");
  const std::string request = last_request(story);
  EXPECT_EQ(request.find("[Now: "), request.rfind("[Now: ")) << "only the time of this request";
}

TEST(Context, DropsForeignReasoningWhenTheProviderChanges) {
  Setting setting = speaking(Protocol::anthropic);
  setting.model.providers.push_back(setting.model.providers[0]);
  setting.model.providers[1].model = "another";
  RunStory story(setting);
  story.begin();
  const std::string thought = R"({"type":"thinking","thinking":"my hidden plan","signature":"c2ln"})";
  story.replies({{ReplyBlockType::reasoning, thought, {}, {}, {}, {}, {}}, said("I call."), call_of("read")});
  story.ends("call_1_1");
  EXPECT_NE(last_request(story).find(thought), std::string::npos) << "its own comes back byte for byte";
  story.fails(FailureClass::permanent);
  const std::string request = last_request(story);
  EXPECT_EQ(story.latest<ModelRequested>().provider, 1u);
  EXPECT_EQ(request.find("my hidden plan"), std::string::npos);
  EXPECT_NE(request.find("I call."), std::string::npos);
  EXPECT_EQ(to_string(sha256(request)), to_string(story.latest<ModelRequested>().request_hash));
}

TEST(Context, ShowsAnArtifactByItsHead) {
  Setting setting = speaking(Protocol::openai);
  setting.input = "beginning " + std::string(50'000, 'x') + " its tail";
  RunStory story(setting);
  story.begin();
  const std::string request = last_request(story);
  EXPECT_NE(request.find("beginning"), std::string::npos);
  EXPECT_NE(request.find(to_string(story.blobs()[0].ref.id)), std::string::npos)
      << "and says how to read the rest";
  EXPECT_EQ(request.find(" its tail"), std::string::npos);
}

TEST(Context, EstimatesWhatItWillBeNotWhatItWas) {
  RunStory story(speaking(Protocol::anthropic));
  story.begin();
  const std::int64_t before = story.latest<ModelRequested>().estimated_tokens;
  story.replies({call_of("read")}, ModelStop::tool_use, std::nullopt);
  story.ends("call_1_1", std::string(6'000, 'x'));
  EXPECT_GT(story.latest<ModelRequested>().estimated_tokens, before + 1'000);
}

TEST(Inspect, FindsTheLastAttemptOfAStep) {
  RunStory story(speaking(Protocol::anthropic));
  story.begin();
  const std::string first = last_request(story);
  story.is_told("And.");
  story.fails(FailureClass::transient, 0);
  EXPECT_EQ(*request_bytes(story.agent(), story.events(), 1, 0), last_request(story));
  EXPECT_EQ(*request_bytes(story.agent(), story.events(), 1, 1), first);
  EXPECT_EQ(request_bytes(story.agent(), story.events(), 1, 3).error().code, ErrorCode::not_found);
  EXPECT_EQ(request_bytes(story.agent(), story.events(), 2, 0).error().code, ErrorCode::not_found);
}

TEST(Inspect, RefusesToShowWhatWasNotSent) {
  RunStory story(speaking(Protocol::anthropic));
  story.begin();
  std::vector<Event> events = story.events();
  std::get<RunStarted>(events[0].payload).input = text_content("Do something else.");
  EXPECT_EQ(request_bytes(story.agent(), events, 1, 0).error().code, ErrorCode::corrupt);
  events = story.events();
  std::get<ModelRequested>(events[1].payload).provider = 7;
  EXPECT_EQ(request_bytes(story.agent(), events, 1, 0).error().code, ErrorCode::corrupt);
  EXPECT_FALSE(request_bytes(story.agent(), {}, 1, 0));
}

TEST(HeadCache, SharesOneHeadWhileARunUsesIt) {
  RunStory story(speaking(Protocol::anthropic));
  const RunStarted& started = *story.state().started;
  HeadCache cache;
  const auto first = cache.get(story.agent(), started.model, started.settings, 0);
  EXPECT_EQ(cache.get(story.agent(), started.model, started.settings, 0), first);
  ModelSettings other = started.settings;
  other.temperature = "0.5";
  EXPECT_NE(cache.get(story.agent(), started.model, other, 0), first);
}

}  // namespace
}  // namespace ratchet::stories
