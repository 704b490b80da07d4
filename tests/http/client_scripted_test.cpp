// The scripted provider as a model client: callbacks, cancellation, files.

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "http/client/scripted.hpp"
#include "tests/http/client_model_record.hpp"

namespace ratchet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::ModelRecord;

/// A file that is gone after the test.
class ScriptFile {
 public:
  explicit ScriptFile(const std::string& yaml)
      : path_(testing::TempDir() + "scenario_" + std::to_string(::getpid()) + "_" +
              testing::UnitTest::GetInstance()->current_test_info()->name() + ".yaml") {
    write(yaml);
  }

  ~ScriptFile() { std::filesystem::remove(path_); }

  void write(const std::string& yaml) { std::ofstream(path_) << yaml; }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

ModelCall call_of(const std::string& path, std::uint32_t step = 1) {
  ModelCall call;
  call.step = step;
  call.endpoint.protocol = Protocol::scripted;
  call.endpoint.scenario_file = path;
  call.body = tests::body_of({R"({"messages":[{"role":"user","content":"hello"}]})"});
  return call;
}

TEST(ScriptedClient, StreamsChunksAndThenTheReply) {
  const ScriptFile file("steps: [{say: abcdef, chunks: 3, latency_ms: 3}]");
  ScriptedClient client;
  ModelRecord record;
  client.start(call_of(file.path()), record.on_delta(), record.on_done());
  const auto seen = record.await_done();
  EXPECT_THAT(seen.deltas, ElementsAre("0:ab", "2:cd", "4:ef"));
  EXPECT_EQ(seen.reply().content.at(0).text, "abcdef");
  EXPECT_GE(seen.outcome->latency_ms, 3);
  EXPECT_LE(seen.outcome->ttft_ms, seen.outcome->latency_ms);
}

TEST(ScriptedClient, NeedsNobodyWhoListensToDeltas) {
  const ScriptFile file("steps: [{say: abc}]");
  ScriptedClient client;
  ModelRecord record;
  client.start(call_of(file.path()), nullptr, record.on_done());
  EXPECT_EQ(record.await_done().reply().content.at(0).text, "abc");
}

TEST(ScriptedClient, ReadsAFileOnce) {
  ScriptFile file("steps: [{say: first}]");
  ScriptedClient client;
  ASSERT_TRUE(client.load(file.path()));
  file.write("steps: [{say: second}]");
  ModelRecord record;
  client.start(call_of(file.path()), nullptr, record.on_done());
  EXPECT_EQ(record.await_done().reply().content.at(0).text, "first");
}

TEST(ScriptedClient, SaysWhatIsWrongWithAFile) {
  const ScriptFile file("steps: [{sai: first}]");
  ScriptedClient client;
  const auto loaded = client.load(file.path());
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().text, HasSubstr(file.path() + ", line 1, column 10: "));
  ModelRecord record;
  client.start(call_of(file.path()), nullptr, record.on_done());
  EXPECT_EQ(record.await_done().failure().kind, FailureClass::permanent);
  EXPECT_EQ(client.load("/no/such/file").error().code, ErrorCode::not_found);
}

TEST(ScriptedClient, NeverCallsBackAfterACancel) {
  const ScriptFile file("steps: [{say: abc, latency_ms: 3600000}]");
  ModelRecord record;
  {
    ScriptedClient client;
    const auto ticket = client.start(call_of(file.path()), record.on_delta(), record.on_done());
    client.cancel(ticket);
    client.cancel(ticket);
    client.cancel(9'999);
  }
  EXPECT_EQ(record.seen().ends, 0u);
}

TEST(ScriptedClient, LetsACallbackStartTheNextCall) {
  const ScriptFile file("steps: [{say: one}, {say: two}]");
  ScriptedClient client;
  ModelRecord record;
  client.start(call_of(file.path()), nullptr, [&](ModelOutcome) {
    client.start(call_of(file.path(), 2), record.on_delta(), record.on_done());
  });
  EXPECT_EQ(record.await_done().reply().content.at(0).text, "two");
}

TEST(ScriptedClient, PlaysManyAtOnce) {
  const ScriptFile file("steps: [{say: abcdef, chunks: 3, latency_ms: 5}]");
  ScriptedClient client;
  std::vector<ModelRecord> records(1'000);
  for (auto& record : records)
    client.start(call_of(file.path()), record.on_delta(), record.on_done());
  for (auto& record : records)
    EXPECT_EQ(record.await_done().deltas.size(), 3u);
}

}  // namespace
}  // namespace ratchet
