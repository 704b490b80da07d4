// What a scripted model says, without its threads.

#include <fstream>

#include <gmock/gmock.h>

#include "http/client/scenario.hpp"
#include "tests/http/client_recorder.hpp"

namespace ratchet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using tests::body_of;

constexpr std::string_view artifact = "art_01ARZ3NDEKTSV4RRFFQ69G5FAV";
constexpr std::string_view other_artifact = "art_01ARZ3NDEKTSV4RRFFQ69G5FAW";

ScenarioFile parsed(std::string_view yaml) {
  auto file = parse_scenarios(yaml);
  if (!file) ADD_FAILURE() << file.error().text;
  return file.value_or(ScenarioFile{});
}

ModelCall call_of(std::uint32_t step, std::string body, std::uint32_t attempt = 1) {
  ModelCall call;
  call.step = step;
  call.attempt = attempt;
  call.body = body_of({std::move(body)});
  return call;
}

std::string chat(std::string_view input, std::string_view more = "") {
  return R"({"messages":[{"role":"system","content":"You help."},{"role":"user","content":")" +
         std::string(input) + R"("})" + std::string(more) + "]}";
}

ModelReply reply(const ScenarioFile& file, const ModelCall& call) {
  auto said = play(file, call);
  if (const auto* failure = std::get_if<ModelFailure>(&said.value)) {
    ADD_FAILURE() << failure->text;
    return {};
  }
  return std::get<ModelReply>(said.value);
}

ModelFailure failure(const ScenarioFile& file, const ModelCall& call) {
  auto said = play(file, call);
  if (const auto* failed = std::get_if<ModelFailure>(&said.value)) return *failed;
  ADD_FAILURE() << "it did not fail";
  return {};
}

TEST(Scenario, AnswersACompactionWithItsNote) {
  auto call = call_of(1, chat("Fix the build."));
  call.purpose = CallPurpose::compaction;
  const auto made_up = reply(parsed("steps: [{call: [{tool: x}]}, {say: done}]"), call);
  ASSERT_EQ(made_up.content.size(), 1u);
  EXPECT_THAT(made_up.content[0].text, HasSubstr("Fix the build."));
  const auto given =
      reply(parsed("note: Half of it is done.\nsteps: [{call: [{tool: x}]}, {say: done}]"), call);
  ASSERT_EQ(given.content.size(), 1u);
  EXPECT_EQ(given.content[0].text, "Half of it is done.");
  EXPECT_TRUE(given.usage_reported);
  EXPECT_FALSE(parse_scenarios("note: \"{{last_reslt}}\"\nsteps: [{say: done}]"));
  EXPECT_FALSE(parse_scenarios("note: x\nscenarios: [{name: a, steps: [{say: done}]}]"));
}

TEST(Scenario, PlaysTheStepOfTheCall) {
  const auto file = parsed(R"(
steps:
  - say: Let me look.
    call:
      - {tool: search, args: {q: "a", n: 1.0, deep: {b: [true, null], a: x}}}
      - {tool: now}
  - say: Done.
)");
  const auto first = reply(file, call_of(1, chat("hello")));
  EXPECT_EQ(first.stop, ModelStop::tool_use);
  ASSERT_EQ(first.content.size(), 3u);
  EXPECT_EQ(first.content[0].text, "Let me look.");
  EXPECT_EQ(first.content[1].type, ReplyBlockType::call);
  EXPECT_EQ(first.content[1].tool, "search");
  EXPECT_EQ(first.content[1].args, R"({"deep":{"a":"x","b":[true,null]},"n":1,"q":"a"})");
  EXPECT_EQ(first.content[2].args, "{}");
  const auto second = reply(file, call_of(2, chat("hello")));
  EXPECT_EQ(second.stop, ModelStop::end_turn);
  EXPECT_EQ(second.content.at(0).text, "Done.");
}

TEST(Scenario, RepeatsTheTextOfTheLastStepPastItsEnd) {
  const auto file = parsed("steps: [{say: Bye., call: [{tool: now}], fail: {class: money, times: 9}}]");
  const auto past = reply(file, call_of(7, chat("hello")));
  EXPECT_EQ(past.stop, ModelStop::end_turn);
  ASSERT_EQ(past.content.size(), 1u);
  EXPECT_EQ(past.content[0].text, "Bye.");
}

TEST(Scenario, EstimatesUsageWhereItIsNotGiven) {
  const auto body = chat("hello");
  const auto estimated = reply(parsed("steps: [{say: twelve bytes}]"), call_of(1, body));
  EXPECT_TRUE(estimated.usage_reported);
  EXPECT_EQ(estimated.usage, (Usage{static_cast<std::int64_t>(body.size()) / 4, 0, 0, 3}));
  const auto given = reply(parsed(R"(steps: [{say: x, usage: {input_tokens: 1200, cached_input_tokens: 900,
    output_tokens: 150}}])"),
                           call_of(1, body));
  EXPECT_EQ(given.usage, (Usage{1200, 900, 0, 150}));
}

TEST(Scenario, PicksTheFirstScenarioThatMatchesTheInput) {
  const auto file = parsed(R"(
scenarios:
  - {name: slow, when: {input_contains: "time\"out"}, steps: [{say: slow}]}
  - {name: other, when: {input_contains: disk}, steps: [{say: disk}]}
)");
  EXPECT_EQ(reply(file, call_of(1, chat(R"(a time\"out and disk)"))).content.at(0).text, "slow");
  EXPECT_EQ(reply(file, call_of(1, chat("disk"))).content.at(0).text, "disk");
  // The input is the user's first message, not what stands elsewhere.
  const auto failed = failure(file, call_of(1, chat("hello", R"(,{"role":"user","content":"disk"})")));
  EXPECT_EQ(failed.kind, FailureClass::rejected);
  EXPECT_THAT(failed.text, HasSubstr("no scenario matches"));
}

TEST(Scenario, FillsPlaceholdersFromEitherFormOfARequest) {
  const auto file = parsed(R"(
steps:
  - call: [{tool: read, args: {id: "{{input_artifact}}", at: "{{last_number:offset (\\d+)}}", note: "<{{last_result:E\\w+}}>"}}]
  - say: "{{last_result}} of {{last_result_artifact}}"
)");
  const std::string input = "see " + std::string(artifact);
  const std::string openai = chat(
      input,
      R"(,{"role":"assistant","tool_calls":[]},{"role":"tool","tool_call_id":"1","content":"old offset 1"})"
      R"(,{"role":"assistant","tool_calls":[]},{"role":"tool","tool_call_id":"2","content":"\"EOF\" offset 42"})"
      R"(,{"role":"tool","tool_call_id":"3","content":")" +
          std::string(other_artifact) + R"("})");
  const std::string anthropic =
      R"({"system":"x","messages":[{"role":"user","content":[{"type":"text","text":")" + input +
      R"("}]},{"role":"assistant","content":[]},{"role":"user","content":[)"
      R"({"type":"tool_result","tool_use_id":"2","content":"\"EOF\" offset 42"},)"
      R"({"type":"tool_result","tool_use_id":"3","content":[{"type":"text","text":")" +
      std::string(other_artifact) + R"("}]}]}]})";
  for (const auto& body : {openai, anthropic}) {
    EXPECT_EQ(reply(file, call_of(1, body)).content.at(0).args,
              R"({"at":42,"id":")" + std::string(artifact) + R"(","note":"<EOF>"})");
    EXPECT_EQ(reply(file, call_of(2, body)).content.at(0).text,
              "\"EOF\" offset 42\n" + std::string(other_artifact) + " of " + std::string(other_artifact));
  }
}

TEST(Scenario, RejectsACallThatDoesNotFillAPlaceholder) {
  const auto file = parsed(R"(
steps:
  - call: [{tool: read, args: {id: "{{input_artifact}}"}}]
  - call: [{tool: read, args: {at: "{{last_number:\\w+}}"}}]
  - say: "{{last_result:absent}}"
)");
  const auto body = chat("none", R"(,{"role":"tool","content":"word"})");
  EXPECT_THAT(failure(file, call_of(1, body)).text,
              HasSubstr("{{input_artifact}}: the request mentions no artifact"));
  EXPECT_THAT(failure(file, call_of(2, body)).text, HasSubstr("'word' is no number"));
  EXPECT_THAT(failure(file, call_of(3, body)).text, HasSubstr("'absent'"));
  EXPECT_EQ(failure(file, call_of(3, body)).kind, FailureClass::rejected);
  EXPECT_THAT(failure(file, call_of(3, "no json")).text, HasSubstr("line 1"));
}

TEST(Scenario, FailsTheFirstAttemptsOnly) {
  const auto file = parsed(R"(
steps:
  - {say: "abcdef", chunks: 3, fail: {status: 529, times: 2}}
  - {say: "abcdef", chunks: 3, fail: {class: transient, after_chunks: 2, retry_after_ms: 70}}
)");
  EXPECT_EQ(failure(file, call_of(1, chat("x"), 1)).kind, FailureClass::overloaded);
  EXPECT_FALSE(failure(file, call_of(1, chat("x"), 2)).produced);
  EXPECT_EQ(reply(file, call_of(1, chat("x"), 3)).content.at(0).text, "abcdef");

  const auto half = play(file, call_of(2, chat("x"), 1));
  EXPECT_THAT(half.chunks, ElementsAre("ab", "cd"));
  const auto& failed = std::get<ModelFailure>(half.value);
  EXPECT_EQ(failed.kind, FailureClass::transient);
  EXPECT_TRUE(failed.produced);
  EXPECT_EQ(failed.retry_after_ms, 70);
  EXPECT_EQ(reply(file, call_of(2, chat("x"), 2)).content.at(0).text, "abcdef");
}

TEST(Scenario, CutsChunksBetweenCodePoints) {
  EXPECT_THAT(play(parsed("steps: [{say: äöü, chunks: 2}]"), call_of(1, chat("x"))).chunks,
              ElementsAre("ä", "öü"));
  EXPECT_THAT(play(parsed("steps: [{say: äöü, chunks: 99}]"), call_of(1, chat("x"))).chunks,
              ElementsAre("ä", "ö", "ü"));
  EXPECT_THAT(play(parsed("steps: [{say: abcdefg, chunks: 3}]"), call_of(1, chat("x"))).chunks,
              ElementsAre("abc", "de", "fg"));
}

TEST(Scenario, RefusesWhatCannotBePlayedWithItsPlace) {
  const struct {
    std::string_view yaml, text;
  } table[] = {
      {"steps:\n  - say: x\n    latencyms: 3\n", "line 3, column 5: "},
      {"steps:\n  - sai: x\n", "line 2, column 5: there is no field 'sai'"},
      {"steps: []\n", "line 1, column 1: there is no step"},
      {"steps:\n  - {}\n", "line 2, column 5: a step needs 'say' or 'call'"},
      {"steps:\n  - call: [{tool: x}]\n", "line 2, column 5: the last step needs 'say'"},
      {"steps: [{say: x}]\nscenarios: []\n", "line 1, column 1: a scenario file has either"},
      {"scenarios: []\n", "line 1, column 1: there is no scenario"},
      {"scenarios:\n  - steps: [{say: x}]\n", "line 2, column 5: the field name is required"},
      {"steps:\n  - say: x\n    call: [{tool: t, args: [1]}]\n", "line 3, column 22: expected an object"},
      {"steps:\n  - say: \"{{nothing}}\"\n", "line 2, column 5: there is no placeholder {{nothing}}"},
      {"steps:\n  - say: \"a {{last_result\"\n", "line 2, column 5: '{{' without its '}}'"},
      {"steps:\n  - say: x\n    call: [{tool: t, args: {a: [\"{{last_result:(}}\"]}}]\n",
       "line 3, column 33: the pattern '('"},
      {"steps:\n  - {say: x, fail: {times: 1}}\n", "line 2, column 14: a fault has either"},
      {"steps:\n  - {say: x, fail: {status: 200}}\n", "line 2, column 21: "},
      {"steps:\n  - {say: x, fail: {class: lost}}\n", "line 2, column 21: "},
      {"steps:\n  - {say: x, chunks: 0}\n", "line 2, column 14: "},
      {"steps:\n  - {say: x, usage: {input_tokens: 1, cached_input_tokens: 2}}\n",
       "line 2, column 22: includes"},
      {"steps:\n  - say: [\n", "line 3, column 1: "},
  };

  for (const auto& [yaml, text] : table) {
    const auto file = parse_scenarios(yaml);
    ASSERT_FALSE(file) << yaml;
    EXPECT_THAT(file.error().text, StartsWith(std::string(text))) << yaml;
  }
}

TEST(Scenario, PlaysTheExampleOfItsDocumentation) {
  std::ifstream file(RATCHET_SOURCE_DIR "/docs/scenarios.md");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::size_t examples = 0;
  for (auto at = text.find("```yaml\n"); at != std::string::npos; at = text.find("```yaml\n", at + 1)) {
    const auto yaml = text.substr(at + 8, text.find("```", at + 8) - at - 8);
    const auto read = parse_scenarios(yaml);
    EXPECT_TRUE(read) << (read ? "" : read.error().text) << "\n" << yaml;
    ++examples;
  }
  EXPECT_EQ(examples, 2u);
}

}  // namespace
}  // namespace ratchet
