// SIGKILL while programs run in sandboxes: they die with the server, what they were is cleared away, and the
// run goes on from its last snapshot. Needs root, crun and runsc.

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/crash/gate.hpp"
#include "tests/crash/remains.hpp"
#include "tests/crash/world.hpp"
#include "tests/fakes/not_tested.hpp"

namespace ratchet::crashing {
namespace {

using testing::IsEmpty;

constexpr const char* scenario = R"(steps:
  - call: [{tool: bash, args: {command: "echo kept > kept; ln -s kept link"}}]
  - call:
      - {tool: in_container, args: {}}
      - {tool: in_kernel, args: {}}
  - call: [{tool: bash, args: {command: "ls; cat link"}}]
  - say: "There is: {{last_result}}"
)";

constexpr const char* without_warm_ones = "sandbox: {tier2: {pool: 0}, tier3: {pool: 0}}\n";
constexpr const char* with_warm_ones = "sandbox: {tier2: {pool: 1}, tier3: {pool: 1}}\n";

/// Asks the gate; told to stay it leaves a file, tells that it is busy, and sleeps. The first argument is its
/// word, the second the gate's port.
constexpr const char* waiter =
    "import socket, subprocess, sys\\n"
    "def ask(word):\\n"
    "  s = socket.create_connection(('127.0.0.1', 3128))\\n"
    "  s.sendall(('GET http://127.0.0.1:%s/%s HTTP/1.1\\\\r\\\\n\\\\r\\\\n' % (sys.argv[2], "
    "word)).encode())\\n"
    "  return s.makefile('rb').read()\\n"
    "if ask(sys.argv[1]).endswith(b'stay'):\\n"
    "  try: open('lost', 'w').write('lost')\\n"
    "  except OSError: pass\\n"
    "  sleeper = subprocess.Popen(['/bin/sleep', '1000'])\\n"
    "  ask(sys.argv[1] + '-busy')\\n"
    "  sleeper.wait()\\n"
    "print('went')\\n";

class SandboxKill : public World {
 protected:
  explicit SandboxKill(const char* config = without_warm_ones) : World(scenario, config) {}

  void SetUp() override {
    const auto missing = what_is_missing();
    if (!missing.empty()) return skip_not_tested("the end of sandboxes with their server", missing);
    server_.start();
    add_program("in_container", 2, "none");
    add_program("in_kernel", 3, "workspace");
    add_agent("worker", R"("bash","in_container","in_kernel")");
  }

  static std::string what_is_missing() {
    if (::geteuid() != 0) return "this is not root";
    for (const char* runtime : {"crun", "runsc"})
      if (::access(fmt::format("/usr/bin/{}", runtime).c_str(), X_OK) != 0 &&
          ::access(fmt::format("/usr/local/bin/{}", runtime).c_str(), X_OK) != 0)
        return fmt::format("{} is not installed", runtime);
    return {};
  }

  void add_program(const std::string& name, int tier, const std::string& filesystem) {
    const auto manifest = fmt::format(
        R"({{"name":"{0}","description":"Waits.","input_schema":{{"type":"object"}},"kind":"command","tier":{1},
            "filesystem":"{2}","side_effects":"none","timeout_ms":100000,
            "network":{{"allow":["127.0.0.1:{3}"]}},
            "command":{{"argv":["/usr/bin/python3","-c","{4}","{0}","{3}"]}}}})",
        name,
        tier,
        filesystem,
        gate_.port(),
        waiter);
    const Answer answer = server_.post("/v1/tools", manifest);
    ASSERT_EQ(answer.status, 201) << answer.body;
  }

  static std::vector<std::string> still_there(const std::set<std::string>& before,
                                              const std::set<std::string>& now) {
    std::vector<std::string> out;
    std::set_intersection(before.begin(), before.end(), now.begin(), now.end(), std::back_inserter(out));
    return out;
  }

  void finish(const std::string& id) {
    for (auto now = run(id); text_at(now, "status") != "finished"; now = run(id)) {
      ASSERT_NE(text_at(now, "status"), "paused") << server_.errors();
      server_.follow(id, static_cast<std::uint64_t>(now.at("last_seq").as_int64()) + 1);
    }
  }

  Gate gate_;
};

TEST_F(SandboxKill, EndsWhatRunsAndGoesOnFromTheLastSnapshot) {
  const auto id = start_run("worker");
  ASSERT_TRUE(gate_.wait_for("in_container-busy")) << server_.errors();
  ASSERT_TRUE(gate_.wait_for("in_kernel-busy")) << server_.errors();
  const auto label = node_label(server_.data_dir());
  const auto groups = groups_of(label);
  ASSERT_FALSE(groups.empty());

  server_.kill();
  EXPECT_THAT(survivors_of(label), IsEmpty()) << "who outlived the server";

  gate_.open();
  server_.start();
  EXPECT_THAT(still_there(groups, groups_of(label)), IsEmpty()) << "groups of the dead node";
  finish(id);
  EXPECT_EQ(text_at(run(id).at("result"), "text"), "There is: kept\nlink\nkept\n") << outcome(id);
  expect_whole_journal();
  EXPECT_THAT(groups_of(label), IsEmpty());
  EXPECT_THAT(directories_of(server_.data_dir()), IsEmpty());
}

/// Warm ones are frozen: they cannot read that their pipe has ended, and are ended by who survives the
/// server.
class WarmKill : public SandboxKill {
 protected:
  WarmKill() : SandboxKill(with_warm_ones) {}
};

TEST_F(WarmKill, ClearsAwayWhatNobodyHadLeased) {
  gate_.open();
  const auto id = start_run("worker");
  finish(id);
  const auto label = node_label(server_.data_dir());
  server_.kill();
  EXPECT_THAT(survivors_of(label), IsEmpty()) << "who outlived the server, without a next start";
  const auto groups = groups_of(label);
  server_.start();
  EXPECT_THAT(still_there(groups, groups_of(label)), IsEmpty()) << "groups of the dead node";
  expect_whole_journal();
  EXPECT_THAT(groups_of(label), IsEmpty());
  EXPECT_THAT(directories_of(server_.data_dir()), IsEmpty());
}

}  // namespace
}  // namespace ratchet::crashing
