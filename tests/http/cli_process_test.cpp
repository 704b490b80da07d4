// The program itself: how it starts, what it refuses, how it ends, and that a client sees a run through
// although the server is killed.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/cli/fields.hpp"
#include "tests/fakes/directory.hpp"
#include "tests/fakes/process.hpp"

namespace ratchet {
namespace {

namespace fs = std::filesystem;
using fakes::Process;
using testing::HasSubstr;
using testing::StartsWith;

const std::string binary = std::string(RATCHET_BINARY_DIR) + "/http/ratchet";

class Program : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return (folder_ / name).string();
  }

  std::unique_ptr<Process> start(std::vector<std::string> words,
                                 const std::vector<std::string>& environment = {}) {
    words.insert(words.begin(), binary);
    return std::make_unique<Process>(std::move(words), (folder_ / "errors").string(), environment);
  }

  std::vector<std::string> serve(const std::string& listen, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"serve", "--listen", listen, "--data-dir", data()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  std::string data() const { return (folder_ / "data").string(); }

  /// The address that a server which is ready has written down.
  std::string address() const {
    std::string line;
    std::getline(std::ifstream(fs::path(data()) / "listen") >> std::ws, line);
    return line;
  }

  TemporaryDirectory directory_;
  const fs::path folder_ = directory_.path();
};

TEST_F(Program, IsReadyWithOneLineAndEndsWithZeroAfterSigterm) {
  auto server = start(serve("127.0.0.1:0", {"--dev"}));
  const auto line = server->line();
  ASSERT_TRUE(line) << server->errors();
  EXPECT_THAT(*line, StartsWith("ratchet: ready on http://" + address()));
  EXPECT_THAT(address(), testing::MatchesRegex("127.0.0.1:[1-9][0-9]*"));
  server->signal(SIGTERM);
  EXPECT_EQ(server->rest(), "");
  EXPECT_EQ(server->wait(), 0) << server->errors();
}

TEST_F(Program, ASecondServerOnTheSameDirectoryIsRefused) {
  auto first = start(serve("127.0.0.1:0", {"--dev"}));
  ASSERT_TRUE(first->line()) << first->errors();
  auto second = start(serve("127.0.0.1:0", {"--dev"}));
  EXPECT_EQ(second->rest(), "");
  EXPECT_EQ(second->wait(), 1);
  EXPECT_THAT(second->errors(), HasSubstr(data()));
  EXPECT_NE(address(), "") << "the first one's address is gone";
}

TEST_F(Program, ABadConfigurationIsStatusTwoAndSaysWhere) {
  const auto unknown = write("unknown.yaml", "listen: 127.0.0.1:0\nmodles: {}\n");
  const auto no_key =
      write("key.yaml",
            "models: {m: {providers: [{protocol: openai, model: x, api_key_env: RATCHET_NO_SUCH_KEY}]}}\n");
  const auto scenario =
      write("scenario.yaml", "models: {m: {providers: [{protocol: scripted, file: missing.yaml}]}}\n");
  const auto no_node_key = write("node.yaml", "identity: {node_key_file: nowhere.key}\n");
  const auto misplaced = write("misplaced.yaml", "durability: sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAAAAAA\n");
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {serve("127.0.0.1:0", {"--config", no_node_key}), "nowhere.key"},
      {serve("127.0.0.1:0", {"--config", misplaced}), "'[redacted:anthropic-key]' is none of: fsync, os"},
      {serve("127.0.0.1:0", {"--config", unknown}), unknown + ":2:1: there is no key 'modles' here"},
      {serve("127.0.0.1:0", {"--config", unknown + ".missing"}), unknown + ".missing"},
      {serve("127.0.0.1:0", {"--config", no_key}), "RATCHET_NO_SUCH_KEY"},
      {serve("127.0.0.1:0", {"--config", scenario}), "missing.yaml"},
      {serve("0.0.0.0:0"), "needs API keys"},
      {serve("0.0.0.0:0", {"--dev"}), "listens on loopback only"},
      {serve("127.0.0.1:0", {"--dev", "--agents", (folder_ / "none").string()}), "none"},
      {serve("127.0.0.1:0", {"--dev", "--model-url", "nowhere"}), "nowhere"}};
  for (const auto& [words, text] : cases) {
    fs::remove(folder_ / "errors");
    auto server = start(words);
    EXPECT_EQ(server->rest(), "") << text;
    EXPECT_EQ(server->wait(), 2) << text << "\n" << server->errors();
    EXPECT_THAT(server->errors(), HasSubstr(text));
  }
}

TEST_F(Program, AKeyOfAProviderIsNowhereToBeSeen) {
  const auto config =
      write("key.yaml",
            "models: {m: {providers: [{protocol: openai, model: x, api_key_env: RATCHET_SOME_KEY}]}}\n");
  auto server =
      start(serve("127.0.0.1:0", {"--dev", "--config", config}), {"RATCHET_SOME_KEY=sk-very-secret"});
  const auto line = server->line();
  ASSERT_TRUE(line) << server->errors();
  server->signal(SIGTERM);
  server->wait();
  EXPECT_THAT(*line + server->errors(), testing::Not(HasSubstr("sk-very-secret")));
}

/// A model that takes its time for each of these steps, and an agent for it.
struct Talk {
  static constexpr const char* config =
      "models: {default: {providers: [{protocol: scripted, file: talk.yaml}]}}\n";
  static constexpr const char* scenario = R"(steps:
  - {call: [{tool: notes_write, args: {text: one}}], latency_ms: 250}
  - {call: [{tool: notes_write, args: {text: two}}], latency_ms: 250}
  - {call: [{tool: notes_write, args: {text: three}}], latency_ms: 250}
  - {call: [{tool: notes_write, args: {text: four}}], latency_ms: 250}
  - {say: "All is written down.", latency_ms: 250}
)";
  static constexpr const char* agent = "agent_id: writer\nmodel: {name: default}\ntools: [notes_write]\n";
};

TEST_F(Program, AClientSeesARunThroughAlthoughTheServerIsKilled) {
  const auto config = write("ratchet.yaml", Talk::config);
  write("talk.yaml", Talk::scenario);
  const auto agent = write("agent.yaml", Talk::agent);
  auto server = start(serve("127.0.0.1:0", {"--dev", "--config", config}));
  ASSERT_TRUE(server->line()) << server->errors();
  const auto at = address();
  const std::vector<std::string> environment{"RATCHET_URL=http://" + at, "RATCHET_KEY"};

  auto apply = start({"apply", "-f", agent}, environment);
  EXPECT_THAT(apply->rest(), HasSubstr("agent writer version 1"));
  ASSERT_EQ(apply->wait(), 0) << apply->errors();

  auto client = start({"run", "writer", "--input", "go", "--json"}, environment);
  std::string run;
  std::set<std::string> seen;
  for (int killed = 0;;) {
    const auto line = client->line();
    if (!line) break;
    if (run.empty()) run = cli::Fields(*line).text("run_id");
    if (line->find("\"seq\":") == std::string::npos) continue;
    EXPECT_TRUE(seen.insert(*line).second) << "twice: " << *line;
    // Twice, in the middle: when a result has come in, with the next call of the model to follow.
    if (killed < 2 && line->find("\"type\":\"tool.result\"") != std::string::npos) {
      ++killed;
      server->signal(SIGKILL);
      server->wait();
      server = start(serve(at, {"--dev", "--config", config}));
      ASSERT_TRUE(server->line()) << server->errors();
    }
  }
  EXPECT_EQ(client->wait(), 0) << client->errors();
  EXPECT_THAT(client->errors(), HasSubstr("resuming after event")) << "the kills came too late";

  auto show = start({"runs", "show", run, "--json"}, environment);
  EXPECT_THAT(show->rest(), HasSubstr("All is written down."));
  EXPECT_EQ(show->wait(), 0);
  auto missing = start({"runs", "show", "run_00000000000000000000000000"}, environment);
  EXPECT_EQ(missing->wait(), 4);

  server->signal(SIGTERM);
  EXPECT_EQ(server->wait(), 0) << server->errors();
  auto verify = start({"journal", "verify", "--data-dir", data()});
  EXPECT_THAT(verify->rest(), HasSubstr("1 runs"));
  EXPECT_EQ(verify->wait(), 0) << verify->errors();
  auto dump = start({"journal", "dump", "--data-dir", data(), run});
  const auto events = dump->rest();
  EXPECT_EQ(dump->wait(), 0) << dump->errors();
  EXPECT_EQ(static_cast<std::size_t>(std::count(events.begin(), events.end(), '\n')), seen.size());
  auto nobody = start({"runs", "list"}, environment);
  EXPECT_EQ(nobody->wait(), 5) << "the server is gone";
}

TEST_F(Program, ApplyChecksEverythingBeforeItSendsAnything) {
  const auto config = write("ratchet.yaml", Talk::config);
  write("talk.yaml", Talk::scenario);
  auto server = start(serve("127.0.0.1:0", {"--dev", "--config", config}));
  ASSERT_TRUE(server->line()) << server->errors();
  const std::vector<std::string> environment{"RATCHET_URL=http://" + address(), "RATCHET_KEY"};
  fs::create_directory(folder_ / "agents");
  write("agents/good.yaml", Talk::agent);
  const auto bad = write("agents/two.yaml",
                         std::string("# first\n---\n") + Talk::agent + "---\nagent_id: typo\nmodle: {}\n");
  auto apply = start({"apply", "-f", (folder_ / "agents").string()}, environment);
  EXPECT_EQ(apply->rest(), "");
  EXPECT_EQ(apply->wait(), 2);
  EXPECT_THAT(apply->errors(), HasSubstr(bad + ":8:1: "));
  auto agents = start({"run", "writer", "--input", "x"}, environment);
  EXPECT_EQ(agents->wait(), 4) << "nothing was registered";
}

}  // namespace
}  // namespace ratchet
