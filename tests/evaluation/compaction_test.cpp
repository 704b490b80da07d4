// The evaluation of compactions: with the fact model in CI, and with a real one where the environment names
// it.

#include <cstdlib>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/evaluation/evaluation.hpp"
#include "tests/evaluation/fact_model.hpp"

namespace ratchet::evaluation {
namespace {

crashing::Models models_of(const FactModel& model) {
  return {
      fmt::format("models:\n"
                  "  facts:\n"
                  "    context_window_tokens: 24000\n"
                  "    max_output_tokens: 2000\n"
                  "    providers:\n"
                  "      - {{protocol: openai, base_url: \"{}\", model: facts}}\n",
                  model.url())};
}

TEST(CompactionEvaluation, FindsEverythingThatAPerfectNoteCarriesOver) {
  const FactModel model;
  crashing::Server server(models_of(model));
  server.start();
  const Recall recall = measure_recall({server, "facts"});
  EXPECT_EQ(recall.right, 30) << to_string(recall);
  EXPECT_EQ(recall.asked, 30);
  EXPECT_GE(recall.compactions, 2) << "facts have gone through more than one note";
  EXPECT_LT(recall.tokens_after, recall.tokens_before * 6 / 10);
}

TEST(CompactionEvaluation, FindsOutWhatANoteForgets) {
  const FactModel model(5);
  crashing::Server server(models_of(model));
  server.start();
  const Recall recall = measure_recall({server, "facts"});
  EXPECT_EQ(recall.asked, 30) << to_string(recall);
  EXPECT_LE(recall.right, 24) << "what is asked for stands nowhere but in the note";
  EXPECT_GT(recall.right, 5);
}

TEST(CompactionEvaluation, TasksPassWithCompactionAsOftenAsWithout) {
  const FactModel model;
  crashing::Server server(models_of(model));
  server.start();
  const Passed without = run_tasks({server, "facts"}, false);
  EXPECT_EQ(without.passed, 5) << to_string(without);
  EXPECT_EQ(without.compactions, 0);
  crashing::Server other(models_of(model));
  other.start();
  const Passed with = run_tasks({other, "facts"}, true);
  EXPECT_EQ(with.passed, 5) << to_string(with);
  EXPECT_GE(with.compactions, 5);
  EXPECT_LT(with.input_tokens, without.input_tokens);
}

TEST(CompactionEvaluation, RealModel) {
  const char* config = std::getenv("RATCHET_EVAL_CONFIG");
  const char* name = std::getenv("RATCHET_EVAL_MODEL");
  if (!config || !name) GTEST_SKIP() << "RATCHET_EVAL_CONFIG and RATCHET_EVAL_MODEL name a model to ask";
  const char* compact_at = std::getenv("RATCHET_EVAL_COMPACT_AT");
  std::ifstream file(config);
  const crashing::Models models{std::string(std::istreambuf_iterator<char>(file), {})};
  crashing::Server server(models);
  server.start();
  Subject subject{server, name};
  if (compact_at) subject.compact_at = std::atof(compact_at);
  const Recall recall = measure_recall(subject);
  fmt::print("{}\n", to_string(recall));
  EXPECT_EQ(recall.trouble, "");
  for (const bool compacting : {false, true}) {
    crashing::Server fresh(models);
    fresh.start();
    const Passed passed = run_tasks({fresh, name, subject.compact_at}, compacting);
    fmt::print("compaction {}: {}\n", compacting ? "on" : "off", to_string(passed));
    EXPECT_EQ(passed.trouble, "");
  }
}

}  // namespace
}  // namespace ratchet::evaluation
