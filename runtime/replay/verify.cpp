#include "runtime/replay/verify.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "runtime/event/json.hpp"
#include "runtime/model/estimate.hpp"
#include "runtime/replay/answers.hpp"
#include "runtime/run/decide.hpp"
#include "runtime/run/outstanding.hpp"

namespace ratchet {

namespace {

template <class T>
bool is(const Event& event) {
  return std::holds_alternative<T>(event.payload);
}

/// Content as it came, before any of it became an artifact.
Content whole(const Content& content, const RecordedRun& run) {
  Content out = content;
  for (Block& block : out) {
    if (!block.artifact) continue;
    const auto bytes = run.artifacts.find(block.artifact->id);
    if (bytes != run.artifacts.end()) block.text = bytes->second;
    block.artifact.reset();
  }
  return out;
}

/// What may have reached the run so that it wrote these events, the likeliest first.
class Inputs {
 public:
  Inputs(const RecordedRun& run, const RunState& state, const std::vector<Event>& events)
      : run_(run), state_(state), events_(events) {}

  std::vector<Input> operator()() {
    std::visit([this](const auto& payload) { on(payload); }, events_.front().payload);
    add(input::Recovered{});
    add(input::Due{});
    add(input::Stopped{});
    add(briefed());
    return std::move(inputs_);
  }

 private:
  void add(Input input) { inputs_.push_back(std::move(input)); }

  void on(const ModelCompleted& completed) {
    ModelReply reply;
    reply.stop = completed.stop_reason;
    reply.content = completed.content;
    for (ReplyBlock& block : reply.content)
      block.call_id.clear();
    reply.usage = completed.usage;
    reply.usage_reported = !completed.usage_estimated;
    const auto ended = [&] {
      return input::ModelEnded{
          state_.step, state_.model.number, {reply, completed.latency_ms, completed.ttft_ms}};
    };
    add(ended());
    // Calls of a note, or of a reply that was cut off, are not recorded; but they make it no note, and they
    // are in an estimate of what the reply cost.
    ReplyBlock& call = reply.content.emplace_back();
    call.type = ReplyBlockType::call;
    std::size_t bytes = 0;
    for (const ReplyBlock& block : completed.content)
      bytes += block.text.size() + block.args.size() + block.tool.size();
    while (completed.usage_estimated && estimate_tokens_of_bytes(bytes) < completed.usage.output) {
      ++bytes;
      call.args += ' ';
    }
    add(ended());
  }

  void on(const ModelFailed& failed) {
    if (failed.kind == FailureClass::lost) return;
    ModelFailure failure;
    failure.kind = failed.kind;
    failure.text = failed.error;
    failure.usage = failed.charged;
    add(input::ModelEnded{state_.step, state_.model.number, {failure, 0, 0}});
    // Charged as reserved: output had begun, and nobody said how much.
    failure.produced = true;
    failure.usage = {};
    add(input::ModelEnded{state_.step, state_.model.number, {failure, 0, 0}});
  }

  void on(const ToolRequested& requested) {
    const Verdict& verdict = requested.verdict;
    CallFacts facts;
    if (!verdict.hooks.empty()) {
      facts.hooks = HookFacts{};
      facts.hooks->word = verdict.hooks;
      facts.hooks->denied = verdict.decision == Decision::deny && verdict.policy_rule.empty() &&
                            (verdict.authz.empty() || verdict.authz == "ok") && verdict.schema == "ok";
      if (verdict.hooks.starts_with("rewritten")) facts.hooks->args = requested.args.text;
    }
    add(input::Judged{requested.call_id, facts});
    const bool refused = verdict.decision == Decision::deny && verdict.policy_rule.empty();
    facts.authorizer = AuthorizerFacts{!refused, verdict.authz};
    add(input::Judged{requested.call_id, facts});
  }

  void on(const ToolResult& result) {
    CallEnd end;
    end.status = result.status;
    const Content content = whole(result.content, run_);
    if (!content.empty()) end.text = content.front().text;  // what follows are remarks that the rules add
    end.latency_ms = result.latency_ms;
    end.sandbox = result.sandbox;
    end.workspace = result.workspace;
    if (result.evidence) end.evidence = *result.evidence;
    ended(result.call_id, std::move(end));
  }

  void on(const ToolPlanned& planned) {
    for (const auto kind :
         {CallEnd::Kind::unknown, CallEnd::Kind::did_not_happen, CallEnd::Kind::needs_user}) {
      CallEnd end;
      end.kind = kind;
      ended(planned.call_id, std::move(end));
    }
  }

  void on(const CallUnknown& unknown) {
    CallEnd end;
    end.kind = CallEnd::Kind::unknown;
    end.text = unknown.why;
    ended(unknown.call_id, std::move(end));
  }

  void on(const ApprovalDecided& decided) {
    input::Decide decide;
    decide.approval_id = decided.approval_id;
    decide.decision = decided.decision;
    decide.edited_args = decided.edited_args;
    decide.by = decided.by;
    decide.comment = decided.comment;
    if (!decided.verdict.hooks.empty()) decide.facts.hooks = HookFacts{false, decided.verdict.hooks, {}};
    add(decide);
    decide.facts.authorizer = AuthorizerFacts{true, decided.verdict.authz};
    add(std::move(decide));
  }

  void on(const MessageReceived& message) {
    add(input::Message{whole(message.content, run_), message.from, message.idempotency_key});
  }

  void on(const UserTokenReceived& token) {
    add(input::UserToken{"", token.scopes, token.expires_at, token.from});
  }

  void on(const RunCancelRequested& cancel) { add(input::Cancel{cancel.by, cancel.reason}); }

  void on(const CallResolved& resolved) {
    add(input::Resolve{resolved.call_id, resolved.outcome, whole(resolved.result, run_), resolved.by});
  }

  void on(const SubagentFinished& finished) {
    input::ChildEnded ended;
    ended.child_run_id = finished.child_run_id;
    ended.stop_reason = finished.stop_reason;
    ended.used = finished.used;
    ended.waited_us = finished.waited_us;
    const Content result = whole(finished.result, run_);
    if (!result.empty()) ended.text = result.front().text;
    add(std::move(ended));
  }

  /// A hook refused the model call that was due.
  void on(const RunFinished& finished) {
    constexpr std::string_view refused = "the model call was refused by ";
    if (!finished.error.starts_with(refused)) return;
    ModelFacts facts;
    facts.outcome = ModelFacts::Outcome::denied;
    facts.word = finished.error.substr(refused.size());
    add(briefed(std::move(facts)));
  }

  void on(const RunResumed&) { add(input::Resume{"operator"}); }

  template <class Other>
  void on(const Other&) {}

  void ended(const std::string& call_id, CallEnd end) {
    const OpenCall* call = state_.find_call(call_id);
    add(input::CallEnded{call_id, call ? call->attempt : 1, std::move(end)});
  }

  /// What hooks at `pre_model` said, as far as the events tell.
  Input briefed() const {
    ModelFacts facts;
    for (const Event& event : events_)
      if (const auto* requested = std::get_if<ModelRequested>(&event.payload))
        facts.context = requested->hook_text;
    return briefed(std::move(facts));
  }

  Input briefed(ModelFacts facts) const {
    const auto effect = unbriefed(state_, events_.front().at);
    return input::Briefed{effect.value_or(BriefEffect{}), std::move(facts)};
  }

  const RecordedRun& run_;
  const RunState& state_;
  const std::vector<Event>& events_;
  std::vector<Input> inputs_;
};

/// Takes over what is drawn anew each time, where all else about it is the same.
class Normalizer {
 public:
  explicit Normalizer(bool shortened) : take_hashes_(shortened) {}

  void operator()(Event& ours, const Event& theirs) {
    if (ours.payload.index() != theirs.payload.index()) return;
    std::visit([&](auto& payload) { on(payload, std::get<std::decay_t<decltype(payload)>>(theirs.payload)); },
               ours.payload);
  }

 private:
  void on(ModelRequested& ours, const ModelRequested& theirs) {
    if (!take_hashes_) return;
    ours.prompt_hash = theirs.prompt_hash;
    ours.request_hash = theirs.request_hash;
    // Tokens are estimated by the letters and digits of an id too.
    if (!drawn_ || std::abs(ours.estimated_tokens - theirs.estimated_tokens) > drawn_ * tokens_an_id) return;
    ours.estimated_tokens = theirs.estimated_tokens;
    ours.prefix_tokens = theirs.prefix_tokens;
    ours.reserved = theirs.reserved;
    ours.max_tokens = theirs.max_tokens;
  }

  void on(ModelFailed& ours, const ModelFailed& theirs) {
    if (ours.retry_at && theirs.retry_at) ours.retry_at = theirs.retry_at;
  }

  void on(ApprovalRequired& ours, const ApprovalRequired& theirs) { ours.approval_id = theirs.approval_id; }

  void on(RunPaused& ours, const RunPaused& theirs) {
    if (ours.approval_ids.size() == theirs.approval_ids.size()) ours.approval_ids = theirs.approval_ids;
  }

  void on(MessageReceived& ours, const MessageReceived& theirs) { same(ours.content, theirs.content); }

  void on(ToolResult& ours, const ToolResult& theirs) { same(ours.content, theirs.content); }

  void on(CallResolved& ours, const CallResolved& theirs) { same(ours.result, theirs.result); }

  void on(SubagentFinished& ours, const SubagentFinished& theirs) { same(ours.result, theirs.result); }

  template <class Other>
  void on(Other&, const Other&) {}

  void same(Content& ours, const Content& theirs) {
    for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
      if (!ours[i].artifact || !theirs[i].artifact) continue;
      // The id is in what the model is shown, and so in the hash of a request of the same append.
      take_hashes_ = true;
      ++drawn_;
      ours[i].artifact->id = theirs[i].artifact->id;
    }
  }

  static constexpr std::int64_t tokens_an_id = 16;

  bool take_hashes_;
  std::int64_t drawn_ = 0;  ///< ids of artifacts in this append
};

std::string shown(const Event* event) {
  constexpr std::size_t shown_bytes_max = 600;
  if (!event) return "nothing";
  std::string text = to_json(*event);
  if (text.size() > shown_bytes_max) text = text.substr(0, shown_bytes_max) + " …";
  return text;
}

std::optional<Divergence> compare(std::vector<Event> ours, const std::vector<Event>& theirs, bool shortened) {
  Normalizer normalize(shortened);
  for (std::size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i) {
    const Event* written = i < theirs.size() ? &theirs[i] : nullptr;
    if (i < ours.size() && written) normalize(ours[i], *written);
    const Event* decided = i < ours.size() ? &ours[i] : nullptr;
    if (written && decided && *written == *decided) continue;
    return Divergence{theirs.front().seq + i,
                      fmt::format("written: {}\n  now: {}", shown(written), shown(decided))};
  }
  return std::nullopt;
}

class Again {
 public:
  Again(std::shared_ptr<const ToolBook> book, const RecordedRun& run) : book_(std::move(book)), run_(run) {
    state_.run_id = run.run_id;
  }

  std::optional<Divergence> operator()() {
    fold(run_.records.front());
    for (std::size_t i = 1; i < run_.records.size(); ++i) {
      const auto& events = run_.records[i].events;
      if (is_its_own(events))
        if (auto divergence = look_at(events)) return divergence;
      fold(run_.records[i]);
    }
    return std::nullopt;
  }

 private:
  /// Whether the events follow from the run alone: not the pause of a run that fails again and again, which
  /// is made from its row; not the start of a sub-agent, which follows from the other agent's version too,
  /// nor what is said of one that ended without an answer.
  static bool is_its_own(const std::vector<Event>& events) {
    const auto* paused = std::get_if<RunPaused>(&events.front().payload);
    if (events.size() == 1 && paused && !paused->error.empty()) return false;
    const auto* child = std::get_if<SubagentFinished>(&events.front().payload);
    if (child && child->stop_reason != StopReason::final_answer) return false;
    return std::none_of(events.begin(), events.end(), is<SubagentStarted>);
  }

  void fold(const Record& record) {
    for (const Event& event : record.events) {
      apply(state_, event);
      if (context_ && context_->provider() == state_.model.provider) context_->apply(event);
      seen_.push_back(event);
    }
    const RunStarted& started = *state_.started;
    if (context_ && context_->provider() == state_.model.provider) return;
    const std::uint32_t provider = state_.model.provider;
    context_ = std::make_unique<Context>(make_head(book_->agent(), started.model, started.settings, provider),
                                         started.model.providers.at(provider),
                                         provider);
    for (const Event& event : seen_)
      context_->apply(event);
  }

  std::optional<Divergence> look_at(const std::vector<Event>& events) {
    std::optional<Divergence> nearest;
    for (const Input& input : Inputs(run_, state_, events)())
      for (const bool hold : {false, true})
        for (const bool decision_point : {false, true}) {
          auto divergence = decided(events, input, hold, decision_point);
          if (!divergence) return std::nullopt;
          // Of several guesses the one that comes furthest is the one to be told of.
          if (!nearest || divergence->seq > nearest->seq) nearest = std::move(divergence);
        }
    return nearest;
  }

  std::optional<Divergence> decided(const std::vector<Event>& events,
                                    const Input& input,
                                    bool hold,
                                    bool decision_point) const {
    const Stamp stamp{events.front().at, Entropy({1})};
    const Rules rules{*book_, events.front().lease_version, hold, decision_point, nullptr};
    auto decision = decide(rules, state_, *context_, input, stamp);
    if (!decision) return Divergence{events.front().seq, "refused: " + decision.error().text};
    return compare(std::move(decision->events), events, run_.shortened);
  }

  std::shared_ptr<const ToolBook> book_;
  const RecordedRun& run_;
  RunState state_;
  std::unique_ptr<Context> context_;
  std::vector<Event> seen_;
};

}  // namespace

Result<std::optional<Divergence>> decide_again(std::shared_ptr<const AgentVersion> version,
                                               const RecordedRun& run) {
  const bool empty = std::any_of(
      run.records.begin(), run.records.end(), [](const Record& record) { return record.events.empty(); });
  if (run.records.empty() || empty || !is<RunStarted>(run.records.front().events.front()))
    return fail(ErrorCode::import_refused, "the record does not begin with run.started, or has a hole");
  if (std::get<RunStarted>(run.records.front().events.front().payload).replay)
    return fail(ErrorCode::not_replayable, "the run is a replay itself: verify the run that it replays");
  auto book = ToolBook::make(std::move(version));
  if (!book) return tl::unexpected(book.error());
  return Again(std::move(*book), run)();
}

}  // namespace ratchet
