#include "tests/runtime/run_story.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "runtime/audit/auditor.hpp"
#include "runtime/context/inspect.hpp"
#include "runtime/run/start.hpp"

namespace ratchet::stories {

namespace {

ToolManifest tool(std::string name, SideEffects effects, Idempotency idempotency) {
  ToolManifest manifest;
  manifest.digest = sha256(name);
  manifest.name = std::move(name);
  manifest.input_schema.text = R"({"type":"object","properties":{"n":{"type":"integer"}}})";
  manifest.kind = ToolKind::http;
  manifest.side_effects = effects;
  manifest.idempotency = idempotency;
  return manifest;
}

std::shared_ptr<const AgentVersion> make_agent(const Setting& setting) {
  auto agent = std::make_shared<AgentVersion>();
  agent->version = 1;
  AgentDefinition& definition = agent->definition;
  definition.agent_id = "worker";
  definition.system_prompt = setting.system_prompt;
  definition.policy = {
      {"secret", Decision::deny}, {"pay", Decision::ask}, {"order", Decision::ask}, {"*", Decision::allow}};
  definition.hooks = setting.hooks;
  definition.approval = {3'600, 600, {}};
  definition.interactive = setting.interactive;
  definition.subagents = setting.subagents;
  definition.digest = sha256("worker");
  agent->tools = {tool("read", SideEffects::none, Idempotency::none),
                  tool("poll", SideEffects::none, Idempotency::none),
                  tool("send", SideEffects::external, Idempotency::key),
                  tool("transfer", SideEffects::internal, Idempotency::status_check),
                  tool("publish", SideEffects::external, Idempotency::none),
                  tool("secret", SideEffects::none, Idempotency::none),
                  tool("pay", SideEffects::external, Idempotency::key),
                  tool("order", SideEffects::external, Idempotency::key),
                  tool("mail", SideEffects::external, Idempotency::key)};
  agent->tools[1].repeatable = true;
  ToolManifest build = tool("build", SideEffects::internal, Idempotency::none);
  build.kind = ToolKind::command;
  build.tier = 2;
  build.filesystem = Filesystem::workspace;
  for (const std::size_t i : {agent->tools.size() - 2, agent->tools.size() - 1})
    agent->tools[i].auth = {true, {"mail"}, {}};
  agent->tools.push_back(std::move(build));
  for (const ToolManifest& builtin : builtin_manifests())
    agent->tools.push_back(builtin);
  std::sort(
      agent->tools.begin(), agent->tools.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return agent;
}

std::string types_of(const std::vector<Event>& events) {
  std::string types;
  for (const Event& event : events) {
    if (!types.empty()) types += ' ';
    types += type_name(event);
  }
  return types;
}

}  // namespace

ModelConfig Setting::default_model() {
  ModelConfig model;
  model.name = "sonnet";
  model.max_output_tokens = 1'000;
  model.prices = {Usd{3'000'000'000}, Usd{300'000'000}, Usd{3'750'000'000}, Usd{15'000'000'000}};
  model.providers.resize(1);
  model.providers[0].base_url = "http://model.example";
  model.providers[0].model = "claude";
  return model;
}

ReplyBlock said(std::string text) {
  return {ReplyBlockType::text, std::move(text), {}, {}, {}, {}, {}};
}

ReplyBlock call_of(std::string tool, std::string args) {
  static int made = 0;
  if (args.empty()) args = "{\"n\":" + std::to_string(++made) + "}";
  return {ReplyBlockType::call, {}, {}, {}, std::move(tool), std::move(args), {}};
}

RunStory::RunStory(Setting setting) : agent_(make_agent(setting)) {
  auto book = ToolBook::make(agent_);
  RATCHET_ENSURE(book, "the story's tools are sound");
  book_ = *book;
  RunStarted started;
  started.agent_id = "worker";
  started.agent_version = 1;
  started.agent_digest = agent_->definition.digest;
  for (const ToolManifest& tool : agent_->tools)
    started.tools.push_back({tool.name, tool.digest});
  started.model = setting.model;
  started.settings.max_output_tokens = setting.max_output_tokens;
  started.input = text_content(setting.input);
  started.team = "team";
  started.budgets = setting.budgets;
  started.deadline_at = now_.plus_ms(setting.budgets.max_seconds * 1'000);
  started.result_cap_tokens = setting.result_cap_tokens;
  started.context = setting.context;
  started.interactive = setting.interactive;
  started.pre_model_hooks = agent_->definition.has_hooks_at(HookPoint::pre_model);
  started.scopes = setting.scopes;
  started.subagent_levels = setting.subagents.max_depth;
  started.token_expires_at = setting.token_expires_at;
  decision_point_ = setting.decision_point;
  Stamp stamp{now_, Entropy({7})};
  const RunId run = RunId::make(stamp);
  take(start_run(run, std::move(started), stamp));
}

RunStory::RunStory(const RunStory& original, ReplayOrder order)
    : agent_(original.agent_), book_(original.book_), now_(original.now_.plus_ms(60'000)) {
  order.origin.run_id = original.state_.run_id;
  auto events = replay_events(order, original.events_, *agent_, now_);
  RATCHET_ENSURE(events, "the story can be replayed");
  Stamp stamp{now_, Entropy({8})};
  const RunId run = RunId::make(stamp);
  replay_ = std::make_unique<ReplayAnswers>(
      std::get<RunStarted>(events->front().payload),
      std::make_shared<const RecordedCalls>(original.events_, order.origin.from_step),
      "",
      order.environment);
  take(start_replay(run, std::move(*events), stamp));
}

RunStory::~RunStory() {
  Auditor auditor;
  for (const Record& record : records_)
    auditor.add(state_.run_id, record);
  for (const Violation& violation : auditor.findings())
    ADD_FAILURE() << to_string(violation);
}

Result<Decided> RunStory::decide_on(const Input& input) const {
  const Stamp stamp{
      now_,
      Entropy({static_cast<std::uint8_t>(drawn_ + 1), static_cast<std::uint8_t>((drawn_ + 1) >> 8), 1})};
  return decide(
      Rules{*book_, lease_, false, decision_point_, replay_.get()}, state_, *context_, input, stamp);
}

std::string RunStory::give(const Input& input) {
  auto decided = decide_on(input);
  if (!decided) return "refused: " + std::string(name(decided.error().code));
  std::string types = types_of(decided->events);
  take(std::move(*decided));
  // The context speaks another provider's form: the driver folds it anew and looks again.
  if (!state_.finished() && !state_.pause && context_->provider() != state_.model.provider) {
    fold_context();
    types += " | " + give(input::Due{});
  }
  return types;
}

std::optional<ErrorCode> RunStory::refuses(const Input& input) {
  const auto decided = decide_on(input);
  if (decided) return std::nullopt;
  return decided.error().code;
}

void RunStory::take(Decided decided) {
  ++drawn_;
  if (!decided.events.empty()) {
    Record record;
    if (!records_.empty()) record.head_before = chain_head(records_.back());
    record.salt[0] = static_cast<std::uint8_t>(drawn_);
    record.salt[1] = static_cast<std::uint8_t>(drawn_ >> 8);
    record.events = decided.events;
    records_.push_back(std::move(record));
  }
  const bool first = events_.empty();
  if (first) state_.run_id = decided.after.run_id;
  for (const Event& event : decided.events) {
    apply(state_, event);
    if (replay_) replay_->apply(event);
    if (!first) context_->apply(event);
    events_.push_back(event);
  }
  for (Blob& blob : decided.blobs)
    blobs_.push_back(std::move(blob));
  decided.blobs.clear();
  last_ = std::move(decided);
  if (first) fold_context();
}

void RunStory::write(const Event& event) {
  Decided decided;
  decided.events = {event};
  take(std::move(decided));
}

void RunStory::fold_context() {
  const RunStarted& started = *state_.started;
  const std::uint32_t provider = state_.model.provider;
  context_ = std::make_unique<Context>(make_head(*agent_, started.model, started.settings, provider),
                                       started.model.providers.at(provider),
                                       provider);
  for (const Event& event : events_)
    context_->apply(event);
}

std::string RunStory::replies(std::vector<ReplyBlock> content, ModelStop stop, std::optional<Usage> usage) {
  ModelReply reply;
  reply.stop = stop;
  reply.content = std::move(content);
  reply.usage_reported = usage.has_value();
  reply.usage = usage.value_or(Usage{});
  return give(input::ModelEnded{state_.step, state_.model.number, {reply, 100, 10}});
}

std::string RunStory::fails(FailureClass kind, std::int64_t retry_after_ms) {
  ModelFailure failure;
  failure.kind = kind;
  failure.text = "it failed";
  failure.retry_after_ms = retry_after_ms;
  return give(input::ModelEnded{state_.step, state_.model.number, {failure, 100, 10}});
}

std::string RunStory::ends(const std::string& call_id, std::string text, ToolStatus status) {
  const OpenCall* call = state_.find_call(call_id);
  return give(input::CallEnded{
      call_id, call ? call->attempt : 0, {CallEnd::Kind::ended, status, std::move(text), 5}});
}

std::string RunStory::gets_lost(const std::string& call_id) {
  const OpenCall* call = state_.find_call(call_id);
  return give(input::CallEnded{
      call_id, call ? call->attempt : 0, {CallEnd::Kind::unknown, ToolStatus::ok, "no answer in time", 5}});
}

input::Decide RunStory::decision_on(const std::string& call_id,
                                    ApprovalDecision decision,
                                    std::optional<std::string> edited) const {
  input::Decide decide;
  for (const Event& event : events_)
    if (const auto* required = std::get_if<ApprovalRequired>(&event.payload);
        required && required->call_id == call_id)
      decide.approval_id = required->approval_id;
  decide.decision = decision;
  if (edited) decide.edited_args = Json{*edited};
  decide.by = "dora";
  return decide;
}

std::string RunStory::approves(const std::string& call_id, std::optional<std::string> edited) {
  return give(decision_on(call_id, ApprovalDecision::approve, std::move(edited)));
}

std::string RunStory::rejects(const std::string& call_id) {
  return give(decision_on(call_id, ApprovalDecision::reject));
}

std::string RunStory::did_not_happen(const std::string& call_id) {
  const OpenCall* call = state_.find_call(call_id);
  return give(input::CallEnded{
      call_id, call ? call->attempt : 0, {CallEnd::Kind::did_not_happen, ToolStatus::ok, "", 5}});
}

std::string RunStory::is_told(std::string text, std::string key) {
  return give(input::Message{text_content(std::move(text)), "somebody", std::move(key)});
}

std::string RunStory::resolves(const std::string& call_id, CallOutcome outcome, std::string result) {
  return give(input::Resolve{call_id, outcome, text_content(std::move(result)), "operator"});
}

const ToolResult& result_of(const RunStory& story, std::string_view call_id) {
  for (const Event& event : story.events()) {
    const auto* result = std::get_if<ToolResult>(&event.payload);
    if (result && result->call_id == call_id) return *result;
  }
  ADD_FAILURE() << call_id << " has no result";
  static const ToolResult none;
  return none;
}

std::string request_of(const RunStory& story) {
  const ModelRequested& requested = story.latest<ModelRequested>();
  std::string bytes;
  for (const auto& piece : story.context().render(requested.max_tokens, requested.late_message()))
    bytes += *piece;
  EXPECT_EQ(to_string(sha256(bytes)), to_string(requested.request_hash));
  return bytes;
}

void expect_derivable(const RunStory& story) {
  for (const Event& event : story.events()) {
    const auto* requested = std::get_if<ModelRequested>(&event.payload);
    if (!requested) continue;
    const auto bytes = request_bytes(story.agent(), story.events(), event.step, requested->attempt);
    EXPECT_TRUE(bytes) << event.seq << ": " << bytes.error().text;
  }
}

}  // namespace ratchet::stories
