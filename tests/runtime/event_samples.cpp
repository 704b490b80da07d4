#include "tests/runtime/event_samples.hpp"

namespace ratchet::samples {

namespace {

RunId run(std::uint8_t n) {
  RunId id;
  id.ulid.bytes.fill(n);
  return id;
}

Content content() {
  ArtifactRef artifact;
  artifact.id.ulid.bytes.fill(9);
  artifact.n = 2;
  artifact.bytes = 70'000;
  artifact.sha256 = sha256("all of it");
  artifact.head = "the begin";
  return {{BlockType::text, "naïve 🏷", {}, {}},
          {BlockType::image, "aGk=", "image/png", {}},
          {BlockType::text, {}, {}, artifact}};
}

RunStarted run_started() {
  RunStarted started;
  started.agent_id = "support";
  started.agent_version = 3;
  started.agent_digest = sha256("support");
  started.tools = {{"read", sha256("read")}, {"send", sha256("send")}};
  started.model.name = "sonnet";
  started.model.context_window_tokens = 100'000;
  started.model.max_output_tokens = 4'096;
  started.model.prices = {Usd{3}, Usd{1}, Usd{4}, Usd{15}};
  started.model.first_byte_timeout_ms = 30'000;
  started.model.sampling = {"temperature", "seed"};
  started.model.providers.resize(2);
  started.model.providers[0].base_url = "https://one.example";
  started.model.providers[0].model = "claude";
  started.model.providers[1] = {Protocol::openai,
                                "https://two.example/v1",
                                "gpt",
                                KeyHeader::x_api_key,
                                "2024-01-01",
                                "max_tokens",
                                "developer",
                                "scenario.yaml"};
  started.settings = {512, "0.5", "0.9", "40", "7"};
  started.input = content();
  started.user_id = "user-17";
  started.scopes = {"email:send", "read"};
  started.team = "payments";
  started.parent_run_id = run(1);
  started.root_run_id = run(2);
  started.depth = 1;
  started.budgets = {12, 34'000, 560, Usd{7'800'000'000}};
  started.deadline_at = Timestamp{1'764'000'560'000'000};
  started.seed = 0xfedcba9876543210;
  started.harness_version = "0.1.0";
  started.rules_version = 2;
  started.assembler_version = 3;
  started.result_cap_tokens = 1'000;
  started.interactive = true;
  started.replay_of = run(3);
  started.labels.text = R"({"ticket":"T-1"})";
  started.token_expires_at = Timestamp{1'764'000'200'000'000};
  started.context = {ContextStrategy::layered, 850};
  started.subagent_levels = 2;
  started.replay = ReplayOrigin{
      run(3), 4, ReplayTools::live, Nondeterminism::pin_seed, Json{R"({"system_prompt":"Be brief."})"}};
  return started;
}

RunFinished run_finished() {
  RunFinished finished;
  finished.stop_reason = StopReason::cost_limit;
  finished.result = "";
  finished.report = Report{"Stopped.", 4, {{"call_1_1", "read", ToolStatus::ok}}, {"the rest"}};
  finished.error = "too dear";
  finished.steps = 4;
  finished.usage = {100, 20, 10, 30};
  finished.cost_usd = Usd{123'456'789};
  finished.subagents = {3, 4'000, Usd{5'000}};
  return finished;
}

std::vector<Payload> payloads() {
  const Timestamp later{1'764'000'100'000'000};
  return {
      run_started(),
      MessageReceived{content(), "alice", "key-1", sha256("as sent")},
      ModelRequested{CallPurpose::compaction,
                     2,
                     1,
                     3,
                     sha256("prompt"),
                     sha256("request"),
                     1'024,
                     "[Now]",
                     5'000,
                     {6'774, Usd{31'000'000}},
                     {},
                     41,
                     4'000},
      ModelCompleted{
          2,
          ModelStop::tool_use,
          {{ReplyBlockType::reasoning, R"({"type":"thinking"})", {}, {}, {}, {}, {}},
           {ReplyBlockType::text, "I look.", {}, {}, {}, {}, {}},
           {ReplyBlockType::call, {}, "call_2_1", "toolu_1", "read", "{\"n\":", "it ends too early"}},
          {900, 800, 50, 40},
          true,
          Usd{1'234'567},
          1'500,
          300,
          CallPurpose::compaction},
      ModelFailed{3, "HTTP 529", FailureClass::overloaded, {5, 4, 3, 2}, Usd{11}, later, 1},
      ToolRequested{"call_2_1",
                    "send",
                    Json{R"({"n":1})"},
                    sha256("args"),
                    3,
                    SideEffects::external,
                    {Decision::ask, true, "ok", "rule 2", "rewritten by hook 1", "ok"},
                    1},
      ToolPlanned{"call_2_1",
                  sha256("args"),
                  "run_x/2/call_2_1",
                  2,
                  Execution::status_check,
                  later,
                  later,
                  true,
                  true},
      ToolResult{"call_2_1",
                 ToolStatus::timeout,
                 content(),
                 70'009,
                 9,
                 2'000,
                 2,
                 "tier 3: runsc",
                 sha256("files"),
                 SandboxEvidence{2, {"evil.example:443"}, 1, {"mount"}},
                 ResultSource::record},
      BudgetWarning{BudgetKind::usd, 800'000'000, 1'000'000'000},
      CallUnknown{"call_2_1", "no answer in time"},
      CallResolved{"call_2_1", CallOutcome::did_not_happen, "bob", content()},
      RunPaused{{PauseReason::unknown_outcome, PauseReason::operator_},
                later,
                {"call_2_1"},
                "it fails",
                {ApprovalId{run(4).ulid}}},
      RunResumed{PauseReason::unknown_outcome, later},
      RunCancelRequested{"carol", "enough", StopReason::repeated_call},
      run_finished(),
      ApprovalRequired{ApprovalId{run(4).ulid},
                       "call_2_1",
                       "send",
                       Json{R"({"n":1})"},
                       sha256(R"({"n":1})"),
                       "rule 2",
                       later,
                       later},
      ApprovalReminded{ApprovalId{run(4).ulid}, "call_2_1"},
      ApprovalDecided{ApprovalId{run(4).ulid},
                      "call_2_1",
                      ApprovalDecision::approve,
                      Json{R"({"n":2})"},
                      sha256(R"({"n":2})"),
                      {Decision::ask, true, "ok", "rule 2", "ok", "ok"},
                      "dora",
                      "fewer",
                      DecidedBy::person},
      UserTokenReceived{{"email:send"}, later, "ci"},
      SubagentStarted{"call_2_1", run(5), "researcher", 7, {6, 50'000, Usd{250'000'000}}, later},
      SubagentFinished{"call_2_1", run(5), StopReason::step_limit, {6, 40'000, Usd{9}}, 1'500'000, content()},
      ContextCompacted{41, "## Goal\nAll of it.", 140'000, 9'000},
  };
}

}  // namespace

std::vector<Event> one_of_each() {
  std::vector<Event> events;
  for (Payload& payload : payloads()) {
    const std::uint64_t seq = events.size() + 1;
    events.push_back(
        {seq, Timestamp{1'764'000'000'000'000 + static_cast<std::int64_t>(seq)}, 2, 300, std::move(payload)});
  }
  return events;
}

Record record_of(std::vector<Event> events) {
  Record record;
  record.head_before = sha256("before");
  record.salt.fill(0x5a);
  record.events = std::move(events);
  return record;
}

}  // namespace ratchet::samples
