// The words of the command line, and what people see.

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/cli/command_line.hpp"
#include "http/cli/print.hpp"
#include "http/cli/verbs.hpp"
#include "http/config/parse.hpp"
#include "runtime/hash.hpp"
#include "tests/fakes/byte_server.hpp"

namespace ratchet::cli {
namespace {

using fakes::ByteServer;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Ran {
  int status = 0;
  std::string out, err;
  ServeOptions served;
  JournalOptions dumped;
};

Ran ratchet_command(std::vector<const char*> words) {
  Ran ran;
  Verbs verbs;
  verbs.serve = [&](const ServeOptions& options) { return ran.served = options, 42; };
  verbs.journal_dump = [&](const JournalOptions& options) { return ran.dumped = options, 43; };
  verbs.journal_verify = [&](const JournalOptions& options) { return ran.dumped = options, 44; };
  verbs.journal_salvage = [&](const JournalOptions& options) { return ran.dumped = options, 45; };
  verbs.audit = [&](const JournalOptions& options) { return ran.dumped = options, 46; };
  words.insert(words.begin(), "ratchet");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  ran.status = run_command_line(static_cast<int>(words.size()), words.data(), verbs);
  ran.out = testing::internal::GetCapturedStdout();
  ran.err = testing::internal::GetCapturedStderr();
  return ran;
}

TEST(CommandLine, WrongWordsAreStatusTwo) {
  for (const auto& words :
       std::vector<std::vector<const char*>>{{},
                                             {"sevre"},
                                             {"serve", "--lisen", "x"},
                                             {"run"},
                                             {"run", "agent"},
                                             {"runs"},
                                             {"runs", "show"},
                                             {"runs", "diff", "run_1"},
                                             {"runs", "resolve", "run_1", "call_1"},
                                             {"runs", "resolve", "run_1", "call_1", "--happened"},
                                             {"apply"},
                                             {"keys", "new"},
                                             {"keys", "new", "--team", "t", "--role", "root"},
                                             {"keys", "new", "--team", "T", "--role", "read"},
                                             {"run", "a", "--input", "x", "--label", "novalue"},
                                             {"run", "a", "--input", "@/does/not/exist"},
                                             {"runs", "list", "--limit", "many"}}) {
    const auto ran = ratchet_command(words);
    EXPECT_EQ(ran.status, 2) << testing::PrintToString(words);
    EXPECT_NE(ran.err, "") << testing::PrintToString(words);
  }
}

TEST(CommandLine, HandsServeItsOptions) {
  const auto ran = ratchet_command({"serve",
                                    "--config",
                                    "r.yaml",
                                    "--data-dir",
                                    "d",
                                    "--listen",
                                    "127.0.0.1:0",
                                    "--dev",
                                    "--agents",
                                    "examples",
                                    "--model-url",
                                    "http://m",
                                    "--model-protocol",
                                    "anthropic",
                                    "--model",
                                    "x",
                                    "--log-json"});
  EXPECT_EQ(ran.status, 42);
  EXPECT_EQ(ran.served.config_file, "r.yaml");
  EXPECT_EQ(ran.served.data_dir, "d");
  EXPECT_EQ(ran.served.listen, "127.0.0.1:0");
  EXPECT_TRUE(ran.served.dev);
  EXPECT_EQ(ran.served.agents, "examples");
  EXPECT_EQ(ran.served.model_url, "http://m");
  EXPECT_EQ(ran.served.model_protocol, "anthropic");
  EXPECT_EQ(ran.served.model_name, "x");
  EXPECT_TRUE(ran.served.log_json);
  EXPECT_FALSE(ratchet_command({"serve"}).served.listen) << "what is not given does not override the file";
}

TEST(CommandLine, TheJournalVerbsTakeADirectoryAndARun) {
  const auto dumped = ratchet_command({"journal", "dump", "--data-dir", "d", "run_1"});
  EXPECT_EQ(dumped.status, 43);
  EXPECT_EQ(dumped.dumped.data_dir, "d");
  EXPECT_EQ(dumped.dumped.run_id, "run_1");
  EXPECT_EQ(ratchet_command({"journal", "verify"}).status, 44);
  EXPECT_EQ(ratchet_command({"journal", "salvage", "there"}).dumped.target, "there");
}

TEST(CommandLine, TheAuditTakesADirectory) {
  const auto ran = ratchet_command({"audit", "d", "--metrics"});
  EXPECT_EQ(ran.status, 46);
  EXPECT_EQ(ran.dumped.data_dir, "d");
  EXPECT_TRUE(ran.dumped.metrics);
}

TEST(CommandLine, HelpAndVersionGoToStandardOutput) {
  EXPECT_THAT(ratchet_command({"serve", "--help-config"}).out, HasSubstr("\nmodels.<name>.providers "));
  EXPECT_THAT(ratchet_command({"version"}).out, testing::MatchesRegex("[0-9.]+\n"));
  const auto help = ratchet_command({"--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.out, HasSubstr("journal"));
}

TEST(CommandLine, ANewKeyFitsTheLineThatIsPrintedWithIt) {
  const auto ran = ratchet_command(
      {"keys", "new", "--team", "payments", "--role", "launch,read", "--role", "read", "--id", "ci"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const auto begin = ran.out.find("  ratchet_") + 2;
  const auto key = ran.out.substr(begin, ran.out.find('\n', begin) - begin);
  const auto line = ran.out.substr(ran.out.find("  - {id"));
  const auto config = parse_config("keys:\n" + line);
  ASSERT_TRUE(config) << config.error().text << "\n" << line;
  EXPECT_EQ(config->keys.at(0).sha256, sha256(key));
  EXPECT_EQ(config->keys.at(0).id, "ci");
  EXPECT_EQ(config->keys.at(0).roles, (std::vector<Role>{Role::launch, Role::read}));
  EXPECT_THAT(ratchet_command({"keys", "new", "--team", "payments", "--role", "read"}).out,
              Not(HasSubstr(key)));
}

ByteServer::Script reply(const std::string& body, const std::string& status = "200 OK") {
  return ByteServer::answering("HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) +
                               "\r\n\r\n" + body);
}

TEST(CommandLine, RunSendsWhatWasAskedFor) {
  ByteServer server({reply(R"({"run_id":"run_1","status":"queued"})", "202 Accepted")});
  const auto url = "http://" + server.host_port();
  const auto ran = ratchet_command({"run",
                                    "triage",
                                    "--input",
                                    "say \"hi\"",
                                    "--user",
                                    "dev:ann:a,b",
                                    "--idempotency-key",
                                    "k\n1",
                                    "--label",
                                    "a=b=c",
                                    "--max-usd",
                                    "0.5",
                                    "--max-steps",
                                    "3",
                                    "--agent-version",
                                    "2",
                                    "--detach",
                                    "--url",
                                    url.c_str()});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out, "run_1\n");
  EXPECT_EQ(server.requests().at(0).body,
            R"({"agent_id":"triage","agent_version":2,"input":"say \"hi\"","user_token":"dev:ann:a,b",)"
            R"("idempotency_key":"k\n1","budgets":{"max_steps":3,"max_usd":"0.5"},"metadata":{"a":"b=c"}})");
}

TEST(CommandLine, JsonPrintsWhatTheApiReturnedRefusalsToo) {
  {
    ByteServer server({reply(R"({"items":[],"next_cursor":null})")});
    const auto url = "http://" + server.host_port();
    const auto ran = ratchet_command(
        {"runs", "list", "--status", "paused", "--agent", "a b", "--json", "--url", url.c_str()});
    EXPECT_EQ(ran.status, 0);
    EXPECT_EQ(ran.out, "{\"items\":[],\"next_cursor\":null}\n");
    EXPECT_THAT(server.requests().at(0).head,
                HasSubstr("GET /v1/runs?limit=50&status=paused&agent_id=a%20b "));
  }
  ByteServer server({reply(R"({"code":"unknown_run","detail":"no run"})", "404 Not Found")});
  const auto url = "http://" + server.host_port();
  const auto ran = ratchet_command({"runs", "show", "run_1", "--json", "--url", url.c_str()});
  EXPECT_EQ(ran.status, 4);
  EXPECT_EQ(ran.out, "{\"code\":\"unknown_run\",\"detail\":\"no run\"}\n");
  EXPECT_EQ(ran.err, "ratchet: no run (unknown_run)\n");
}

TEST(CommandLine, ARunIsShownWithTheRunsThatItHasStarted) {
  const auto shown = [](const std::string& children, std::vector<const char*> more) {
    // Both on one connection: the client keeps it.
    auto script = reply(R"({"run_id":"run_1"})");
    script.pop_back();
    const auto second = reply(children);
    script.insert(script.end(), second.begin(), second.end());
    ByteServer server({script});
    const auto url = "http://" + server.host_port();
    std::vector<const char*> words{"runs", "show", "run_1", "--url", url.c_str()};
    words.insert(words.end(), more.begin(), more.end());
    const auto ran = ratchet_command(words);
    EXPECT_EQ(ran.status, 0) << ran.err;
    if (server.requests().size() > 1) {
      EXPECT_THAT(server.requests().at(1).head, HasSubstr("GET /v1/runs?limit=200&parent_run_id=run_1 "));
    }
    return ran.out;
  };
  const auto children = R"({"items":[{"run_id":"run_2","status":"running"}],"next_cursor":null})";
  EXPECT_THAT(shown(children, {}), AllOf(HasSubstr("children:\n"), HasSubstr("run_2")));
  EXPECT_EQ(shown(R"({"items":[],"next_cursor":null})", {}), "run_id: run_1\n");
  EXPECT_EQ(shown(children, {"--json"}), "{\"run_id\":\"run_1\"}\n") << "what the API said of it";
}

TEST(CommandLine, AFreshTokenComesFromTheEnvironmentAndNotFromTheArguments) {
  ByteServer server({reply(R"({"seq":7})", "202 Accepted")});
  const auto url = "http://" + server.host_port();
  EXPECT_EQ(ratchet_command({"runs", "token", "run_1", "a-token", "--url", url.c_str()}).status, 2);
  setenv("RATCHET_USER_TOKEN", "a.b.c", 1);
  const auto ran = ratchet_command({"runs", "token", "run_1", "--url", url.c_str()});
  unsetenv("RATCHET_USER_TOKEN");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out, "event 7\n");
  EXPECT_THAT(server.requests().at(0).head, HasSubstr("POST /v1/runs/run_1/user_token HTTP/1.1"));
  EXPECT_EQ(server.requests().at(0).body, R"({"user_token":"a.b.c"})");
}

TEST(CommandLine, ResolvesACallEitherWay) {
  ByteServer server({reply("{}", "202 Accepted")});
  const auto url = "http://" + server.host_port();
  EXPECT_EQ(
      ratchet_command({"runs", "resolve", "run_1", "c/1", "--did-not-happen", "--url", url.c_str()}).status,
      0);
  EXPECT_EQ(ratchet_command(
                {"runs", "resolve", "run_1", "c1", "--happened", "--result", "sent", "--url", url.c_str()})
                .status,
            0);
  EXPECT_THAT(server.requests().at(0).head, StartsWith("POST /v1/runs/run_1/calls/c%2F1/resolve "));
  EXPECT_EQ(server.requests().at(0).body, R"({"outcome":"did_not_happen"})");
  EXPECT_EQ(server.requests().at(1).body, R"({"outcome":"happened","result":"sent"})");
}

// --- what people see ---------------------------------------------------------------------------------------

std::string printed(const std::vector<std::pair<std::string, std::string>>& events, Style style = {}) {
  std::ostringstream out;
  EventPrinter printer(out, style);
  for (const auto& [type, data] : events)
    type == "model.delta"   ? printer.delta(data)
    : type == "tool.output" ? printer.output(data)
                            : printer.event(type, data);
  return out.str();
}

TEST(Print, AnEventIsALineWithItsTextBelow) {
  EXPECT_EQ(
      printed(
          {{"tool.requested",
            R"({"seq":4,"call_id":"c1","tool":"artifact_search","args":{"pattern":"x"},"verdict":{"decision":"allow"}})"},
           {"tool.result",
            R"({"seq":6,"call_id":"c1","status":"ok","bytes":7,"latency_ms":2,"content":[{"type":"text","text":"a\nb\n"}]})"}}),
      "   4  tool.requested    artifact_search {\"pattern\":\"x\"} → allow\n"
      "   6  tool.result       artifact_search ok, 7 bytes, 2 ms\n"
      "      a\n"
      "      b\n");
}

TEST(Print, EventsOfARunBelowCarryTheEndOfItsId) {
  const Style live{.colour = false, .live = true};
  EXPECT_EQ(
      printed(
          {{"subagent.started",
            R"({"seq":5,"agent":"helper","agent_version":2,"child_run_id":"run_01ABCDEF","share":{"steps":7,"tokens":900,"usd":"0.25"},"deadline_at":"T"})"},
           {"model.delta", R"({"step":1,"attempt":1,"index":0,"text":"own"})"},
           {"model.delta", R"({"run_id":"run_01ABCDEF","step":1,"attempt":1,"index":0,"text":"not"})"},
           {"tool.requested",
            R"({"run_id":"run_01ABCDEF","seq":3,"call_id":"c1","tool":"other","args":{},"verdict":{"decision":"allow"}})"},
           {"model.completed",
            R"({"run_id":"run_01ABCDEF","seq":4,"stop_reason":"end_turn","content":[{"type":"text","text":"below"}]})"},
           {"tool.planned", R"({"seq":6,"call_id":"c1","attempt":1})"},
           {"subagent.finished",
            R"({"seq":7,"child_run_id":"run_01ABCDEF","stop_reason":"final_answer","used":{"steps":1,"tokens":40,"usd":"0.01"},"result":[{"type":"text","text":"It is so."}]})"}},
          live),
      "   5  subagent.started  helper version 2 as run_01ABCDEF: 7 steps, 900 tokens, $0.25, until T\n"
      "      own\n"
      "   3  tool.requested    […ABCDEF] other {} → allow\n"
      "   4  model.completed   […ABCDEF] end_turn,  tokens in,  out, $,  ms\n"
      "      below\n"
      "   6  tool.planned      , attempt 1\n"
      "   7  subagent.finished  run_01ABCDEF: final_answer after 1 steps, 40 tokens, $0.01\n"
      "      It is so.\n");
}

TEST(Print, WhatAModelWroteCannotDriveTheTerminal) {
  const auto out = printed(
      {{"run.finished",
        R"({"seq":1,"stop_reason":"final_answer","result":{"text":"\u001b[2Jgone\u0007\u009b1m\r"}})"},
       {"some.new_type", R"({"seq":2,"text":"\u001b[31m"})"}});
  for (const char c : out)
    EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << testing::PrintToString(out);
  EXPECT_THAT(out, Not(HasSubstr("\xC2\x9b")));
  EXPECT_THAT(out, HasSubstr("gone"));
}

TEST(Print, ALiveReplyIsWrittenOnceHoweverItArrives) {
  const Style live{.colour = false, .live = true};
  const auto out = printed({{"model.delta", R"({"step":1,"attempt":1,"index":0,"text":"Hel"})"},
                            {"model.delta", R"({"step":1,"attempt":1,"index":0,"text":"Hello"})"},
                            {"model.delta", R"({"step":1,"attempt":2,"index":0,"text":"Hi"})"},
                            {"model.delta", R"({"step":1,"attempt":2,"index":9,"text":"gap"})"},
                            {"model.completed", R"({"seq":3,"content":[{"type":"text","text":"Hi"}]})"}},
                           live);
  EXPECT_THAT(out, StartsWith("      Hello\n      Hi\n   3  model.completed"));
  EXPECT_THAT(out, Not(HasSubstr("gap")));
  EXPECT_EQ(out.find("Hi"), out.rfind("Hi"));
}

TEST(Print, WhatACommandWritesIsShownWhileItRuns) {
  // It was asked for: it is shown to a pipe too, and of runs below.
  for (const bool live : {false, true}) {
    const auto out =
        printed({{"tool.output", R"({"call_id":"c1","attempt":1,"index":0,"text":"1\n"})"},
                 {"tool.output", R"({"call_id":"c1","attempt":1,"index":2,"text":"2\n\n3"})"},
                 {"tool.output", R"({"call_id":"c2","attempt":1,"index":7,"text":"joined late"})"},
                 {"tool.output", R"({"run_id":"run_2","call_id":"c2","attempt":1,"index":0,"text":"below"})"},
                 {"tool.result", R"({"seq":3,"call_id":"c1","status":"ok"})"}},
                Style{.colour = false, .live = live});
    EXPECT_THAT(
        out,
        StartsWith("      1\n      2\n      \n      3\n      joined late\n      below\n   3  tool.result"));
  }
}

TEST(Print, AReplaySaysWhereItsEventsComeFrom) {
  const auto out = printed(
      {{"run.started",
        R"({"seq":1,"agent_id":"a","agent_version":1,"model":{"name":"m"},"user_id":"u","replay_of":"run_1","replay":{"from_step":2}})"},
       {"tool.result", R"({"seq":2,"call_id":"c1","status":"ok","bytes":1,"latency_ms":1,"replayed":true})"},
       {"tool.result",
        R"({"seq":3,"call_id":"c2","status":"ok","bytes":1,"latency_ms":0,"source":"record"})"},
       {"tool.result", R"({"seq":4,"call_id":"c3","status":"ok","bytes":1,"latency_ms":0,"source":"mock"})"},
       {"tool.result",
        R"({"seq":5,"call_id":"c4","status":"ok","bytes":1,"latency_ms":2,"source":"execution"})"}});
  EXPECT_THAT(out, HasSubstr("user u, replays run_1 from step 2\n"));
  EXPECT_THAT(out, HasSubstr("1 bytes, 1 ms, taken over\n"));
  EXPECT_THAT(out, HasSubstr("1 bytes, 0 ms, from the record\n"));
  EXPECT_THAT(out, HasSubstr("1 bytes, 0 ms, from a mock\n"));
  EXPECT_THAT(out, HasSubstr("1 bytes, 2 ms\n"));
}

TEST(Print, ADiffShowsOnlyWhatDiffers) {
  std::ostringstream out;
  print_diff(
      out,
      {},
      R"({"run_id":"run_2","against":"run_1","first_divergent_step":2,"cost_delta_usd":"-0.010000","steps":[)"
      R"({"step":1,"same":true},{"step":2,"same":false,"request":{"same":true},)"
      R"("reply":{"same":false,"run":{"stop_reason":"end_turn","text":"yes\u001b"},"against":null},)"
      R"("calls":[{"same":false,"run":{"tool":"send","args":{"n":1},"status":"not_replayable","source":"record"},)"
      R"("against":{"tool":"send","args":{"n":1},"status":"ok","source":"execution"}}]}]})");
  EXPECT_EQ(out.str(),
            "--- run_1\n+++ run_2\n"
            "step 1: the same\n"
            "step 2\n"
            "  reply\n"
            "    + end_turn: yes\xEF\xBF\xBD\n"
            "  call\n"
            "    - send {\"n\":1} → ok\n"
            "    + send {\"n\":1} → not_replayable (record)\n"
            "they part at step 2; cost -$0.010000\n");
}

TEST(Print, AListIsATableAndABrokenReplyIsShownAsItCame) {
  std::ostringstream out;
  print_runs(out,
             R"({"items":[{"run_id":"run_1","status":"running","stop_reason":null}],"next_cursor":"abc"})");
  EXPECT_THAT(out.str(), AllOf(HasSubstr("run_1"), HasSubstr("running"), HasSubstr("--cursor abc")));
  std::ostringstream broken;
  print_runs(broken, "<html>");
  EXPECT_EQ(broken.str(), "<html>\n");
}

}  // namespace
}  // namespace ratchet::cli
