// Every scenario that the repository ships, told to a run: each request begins with the bytes of the one
// before it, so that a provider's prompt cache can serve them, and is derived from the journal again.

#include <filesystem>

#include "http/client/scenario.hpp"
#include "runtime/context/inspect.hpp"
#include "runtime/model/wire.hpp"
#include "tests/runtime/run_story.hpp"

namespace ratchet {
namespace {

namespace fs = std::filesystem;

std::vector<ScenarioFile> shipped() {
  std::vector<ScenarioFile> files;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(RATCHET_SOURCE_DIR) / "examples")) {
    if (entry.path().extension() != ".yaml") continue;
    if (auto file = load_scenarios(entry.path().string())) files.push_back(std::move(*file));
  }
  return files;
}

/// What later requests begin with: without marks and without what belongs to this request alone.
std::string history(const stories::RunStory& story, const Event& event) {
  const auto& requested = std::get<ModelRequested>(event.payload);
  auto bytes = request_bytes(story.agent(), story.events(), event.step, requested.attempt);
  EXPECT_TRUE(bytes) << bytes.error().text;
  std::string text = bytes.value_or("");
  for (std::size_t at = 0; (at = text.find(cache_mark, at)) != std::string::npos;)
    text.erase(at, cache_mark.size());
  const ProviderConfig& provider = story.state().started->model.providers[requested.provider];
  const std::string tail = render_tail(provider, requested.max_tokens, requested.late_message(), true);
  EXPECT_TRUE(text.ends_with(tail));
  text.resize(text.size() - std::min(tail.size(), text.size()));
  return text;
}

/// Tells the steps; the tools' answers are of some length and say where they come from.
void tell(stories::RunStory& story, const Scenario& scenario) {
  story.begin();
  for (const ScenarioStep& step : scenario.steps) {
    if (story.state().phase != Phase::calling) return;
    std::vector<ReplyBlock> content;
    if (!step.say.empty()) content.push_back(stories::said(step.say));
    for (const ScenarioCall& call : step.calls)
      content.push_back(stories::call_of(call.tool, call.args));
    story.replies(std::move(content));
    while (!story.state().finished() && story.state().phase == Phase::batch) {
      const auto open = std::find_if(story.state().calls.begin(),
                                     story.state().calls.end(),
                                     [](const OpenCall& c) { return c.stage == CallStage::planned; });
      if (open == story.state().calls.end()) return;
      const std::string call_id = open->call_id;
      story.ends(call_id, "Result of " + call_id + ": " + std::string(700, 'x'));
    }
  }
}

TEST(Prefix, StaysOverEveryScenarioThereIs) {
  int scenarios = 0, requests = 0;
  std::int64_t prefix = 0, all = 0;
  for (const ScenarioFile& file : shipped()) {
    for (const Scenario& scenario : file.scenarios) {
      for (const Protocol protocol : {Protocol::anthropic, Protocol::openai}) {
        SCOPED_TRACE(scenario.name);
        stories::Setting setting;
        setting.model.providers[0].protocol = protocol;
        stories::RunStory story(setting);
        tell(story, scenario);
        ++scenarios;
        std::string before;
        for (const Event& event : story.events()) {
          const auto* requested = std::get_if<ModelRequested>(&event.payload);
          if (!requested) continue;
          std::string now = history(story, event);
          EXPECT_TRUE(now.starts_with(before)) << "the request of event " << event.seq;
          prefix += static_cast<std::int64_t>(before.size());
          all += static_cast<std::int64_t>(now.size());
          before = std::move(now);
          ++requests;
        }
      }
    }
  }
  EXPECT_GE(scenarios, 6);
  EXPECT_GE(requests, 20);
  EXPECT_GT(prefix * 10, all * 5) << "of short runs, most of which is their beginning";
}

/// The workload of the bench: 3,000 tokens of prompt and tools, 200 of a task, then 150 and 700 with each of
/// 12 steps.
TEST(Prefix, IsMostOfWhatTheSeedWorkloadSends) {
  stories::Setting setting;
  setting.budgets = {100, 10'000'000, 1'000'000, Usd{1'000'000'000'000}};
  setting.input = std::string(800, 'a');
  setting.system_prompt = std::string(12'000, 'p');
  stories::RunStory story(setting);
  story.begin();
  for (int step = 1; step < 12; ++step) {
    const std::int64_t estimated = story.latest<ModelRequested>().estimated_tokens;
    story.replies({stories::said(std::string(500, 's')), stories::call_of("read")},
                  ModelStop::tool_use,
                  Usage{estimated, 0, 0, 150});
    story.ends(story.state().calls.front().call_id, std::string(2'800, 'r'));
  }
  std::int64_t prefix = 0, all = 0;
  for (const Event& event : story.events()) {
    const auto* requested = std::get_if<ModelRequested>(&event.payload);
    if (!requested) continue;
    prefix += requested->prefix_tokens;
    all += requested->estimated_tokens;
  }
  EXPECT_EQ(story.state().step, 12u);
  EXPECT_GE(prefix * 100, all * 89) << prefix << " of " << all;
}

}  // namespace
}  // namespace ratchet
