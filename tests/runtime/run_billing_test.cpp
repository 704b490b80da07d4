// Published cases of wrong bills, from the provider's bytes to the dollars of a run. Each provider counts in
// its own way: Anthropic's `input_tokens` leaves out what was read from and written to the cache and is told
// twice, OpenAI's `prompt_tokens` includes it and is told once.

#include "tests/runtime/model_replies.hpp"
#include "tests/runtime/run_story.hpp"

namespace ratchet::stories {
namespace {

using ratchet::testing::ended;
using ratchet::testing::play;

/// Budgets that do not matter, at 3 dollars a million tokens in, 0.30 from the cache, 3.75 into it, 15 out.
Setting rich(std::int64_t max_tokens = 1'000'000'000'000) {
  Setting setting;
  setting.budgets = {1'000, max_tokens, 1'000'000, Usd{1'000'000'000'000'000}};
  return setting;
}

/// A reply of one word, with the usage at its start and at its end.
std::string anthropic(const std::string& at_start, const std::string& at_end) {
  return R"(event: message_start
data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":)" +
         at_start + R"(}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Done."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":)" +
         at_end + R"(}

event: message_stop
data: {"type":"message_stop"}

)";
}

std::string openai(const std::string& usage) {
  return R"(data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Done."},"finish_reason":null}]}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":)" +
         usage + R"(}

data: [DONE]

)";
}

ModelReply reply_of(Protocol protocol, const std::string& bytes) {
  const auto parser = make_reply_parser(protocol);
  const auto played = play(*parser, {bytes}, ended(200));
  const auto* reply = std::get_if<ModelReply>(&played.outcome);
  EXPECT_TRUE(reply) << ratchet::testing::line(played);
  return reply ? *reply : ModelReply{};
}

struct Bill {
  const char* what;
  Protocol protocol;
  std::string bytes;
  Usage usage;
  std::int64_t cost_nano;
};

const Bill bills[] = {
    {"12.4 million tokens in, of which 11.5 million came from the cache: 6.15 dollars, not 37.20",
     Protocol::openai,
     openai(R"({"prompt_tokens":12400000,"completion_tokens":0,"total_tokens":12400000,)"
            R"("prompt_tokens_details":{"cached_tokens":11500000}})"),
     {12'400'000, 11'500'000, 0, 0},
     900'000ll * 3'000 + 11'500'000ll * 300},
    {"the same of a provider that leaves the cache out of its count",
     Protocol::anthropic,
     anthropic(R"({"input_tokens":900000,"cache_read_input_tokens":11500000,"output_tokens":1})",
               R"({"output_tokens":0})"),
     {12'400'000, 11'500'000, 0, 0},
     900'000ll * 3'000 + 11'500'000ll * 300},
    {"6 tokens are told of, and 412 thousand were read",
     Protocol::anthropic,
     anthropic(R"({"input_tokens":6,"cache_creation_input_tokens":12000,"cache_read_input_tokens":400000,)"
               R"("output_tokens":1})",
               R"({"output_tokens":1200})"),
     {412'006, 400'000, 12'000, 1'200},
     6ll * 3'000 + 400'000ll * 300 + 12'000ll * 3'750 + 1'200ll * 15'000},
    {"usage that comes at the start and, cumulative, at the end: set, not added",
     Protocol::anthropic,
     anthropic(R"({"input_tokens":120,"cache_read_input_tokens":5900,"output_tokens":1})",
               R"({"input_tokens":120,"cache_read_input_tokens":5900,"output_tokens":89})"),
     {6'020, 5'900, 0, 89},
     120ll * 3'000 + 5'900ll * 300 + 89ll * 15'000},
    {"225 tokens from the cache for each one that was said",
     Protocol::openai,
     openai(R"({"prompt_tokens":1700000,"completion_tokens":7500,"total_tokens":1707500,)"
            R"("prompt_tokens_details":{"cached_tokens":1687500}})"),
     {1'700'000, 1'687'500, 0, 7'500},
     12'500ll * 3'000 + 1'687'500ll * 300 + 7'500ll * 15'000},
    {"more from the cache than there was: no more than there was",
     Protocol::openai,
     openai(R"({"prompt_tokens":100,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":150}})"),
     {100, 100, 0, 1},
     100ll * 300 + 1ll * 15'000},
};

TEST(Billing, ChargesWhatWasUsedOnceByEachProvidersCount) {
  for (const Bill& bill : bills) {
    SCOPED_TRACE(bill.what);
    const ModelReply reply = reply_of(bill.protocol, bill.bytes);
    RunStory story(rich());
    story.begin();
    story.give(input::ModelEnded{1, 1, {reply, 1, 1}});
    const ModelCompleted& completed = story.latest<ModelCompleted>();
    EXPECT_EQ(completed.usage, bill.usage);
    EXPECT_EQ(completed.cost_usd.nano, bill.cost_nano);
    EXPECT_EQ(story.latest<RunFinished>().cost_usd.nano, bill.cost_nano);
  }
}

TEST(Billing, CountsCachedInputAgainstTheBudgetOverEveryResumption) {
  // 227.8 million tokens from the cache and 71,909 that were said, over eight resumptions.
  RunStory story(rich(120'000'000));
  story.begin();
  int replies = 0;
  while (!story.state().finished() && replies < 8) {
    ++replies;
    story.replies({call_of("read")}, ModelStop::tool_use, Usage{28'475'000, 28'475'000, 0, 8'989});
    if (story.state().finished()) break;
    story.recovers();
    story.ends(story.state().calls.front().call_id);
    if (!story.state().finished()) story.recovers();
  }
  EXPECT_EQ(replies, 5) << "what was used before a crash is used after it";
  EXPECT_TRUE(story.finished(StopReason::token_limit));
  EXPECT_TRUE(story.latest<RunFinished>().report) << "stopped, and not an empty success";
}

TEST(Billing, StopsBeforeTheCallThatWouldGoOver) {
  Setting setting;
  setting.budgets = {100, 30'000, 600, Usd{1'000'000'000}};
  RunStory story(setting);
  story.begin();
  while (!story.state().finished()) {
    const ModelRequested& requested = story.latest<ModelRequested>();
    // The provider uses all that was reserved.
    const std::int64_t input = requested.reserved.tokens - requested.max_tokens;
    story.replies({call_of("read")}, ModelStop::tool_use, Usage{input, 0, 0, requested.max_tokens});
    if (!story.state().finished()) story.ends(story.state().calls.front().call_id);
    EXPECT_LE(story.state().usage.total(), 30'000);
  }
  EXPECT_TRUE(story.finished(StopReason::token_limit));
}

}  // namespace
}  // namespace ratchet::stories
