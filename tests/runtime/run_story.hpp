#pragma once
// A run in the words of the domain: what is said to it, and which events follow. Every story is audited when
// it ends, so a test of one rule also checks all invariants.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/replay/start.hpp"
#include "runtime/run/decide.hpp"
#include "runtime/run/outstanding.hpp"

namespace ratchet::stories {

/// What a story begins with. The tools are `read` (no effects), `poll` (the same, repeatable), `send` (takes
/// a key), `transfer` (offers a status check), `publish` (neither), `secret` (denied by policy), `pay` (takes
/// a key; a person decides), `mail` (takes a key; acts as the user, needs the scope `mail`), `order` (both at
/// once), `build` (a program that changes the workspace, and something else), and those that ratchet brings
/// along.
struct Setting {
  Budgets budgets;
  ModelConfig model = default_model();
  std::int64_t max_output_tokens = 0;
  std::uint32_t result_cap_tokens = 2'000;
  ContextSettings context;
  bool interactive = false;
  std::string input = "Do it.";
  std::string system_prompt = "You work.";
  std::vector<std::string> scopes = {"mail"};
  std::optional<Timestamp> token_expires_at;
  std::vector<HookRule> hooks;
  bool decision_point = false;
  SubagentSettings subagents;

  static ModelConfig default_model();
};

ReplyBlock said(std::string text);
/// Each call of the same tool has other arguments, unless they are given.
ReplyBlock call_of(std::string tool, std::string args = {});

class RunStory {
 public:
  explicit RunStory(Setting setting = {});
  /// Replays the other story. `order` says the rest; run and agent are those of the other one.
  RunStory(const RunStory& original, ReplayOrder order);
  ~RunStory();
  RunStory(const RunStory&) = delete;
  RunStory& operator=(const RunStory&) = delete;

  // --- what happens. Each returns the types of the events that follow, separated by spaces.
  std::string begin() { return give(input::Recovered{}); }

  std::string replies(std::vector<ReplyBlock> content,
                      ModelStop stop = ModelStop::end_turn,
                      std::optional<Usage> usage = Usage{100, 0, 0, 10});
  std::string fails(FailureClass kind, std::int64_t retry_after_ms = -1);
  std::string ends(const std::string& call_id, std::string text = "done", ToolStatus status = ToolStatus::ok);
  std::string gets_lost(const std::string& call_id);
  std::string did_not_happen(const std::string& call_id);
  std::string is_told(std::string text, std::string key = {});

  std::string is_cancelled() { return give(input::Cancel{"somebody", "why not"}); }

  std::string has_stopped() { return give(input::Stopped{}); }

  std::string resolves(const std::string& call_id, CallOutcome outcome, std::string result = "it did");

  std::string is_judged(const std::string& call_id, CallFacts facts = {}) {
    return give(input::Judged{call_id, std::move(facts)});
  }

  /// Of the hooks at `pre_model`, about the attempt that comes next.
  std::string is_briefed(ModelFacts facts = {}) {
    return give(input::Briefed{unbriefed(state_, now_).value_or(BriefEffect{}), std::move(facts)});
  }

  /// On the approval of this call, which must be open. `edited`: canonical arguments.
  std::string approves(const std::string& call_id, std::optional<std::string> edited = std::nullopt);
  std::string rejects(const std::string& call_id);
  input::Decide decision_on(const std::string& call_id,
                            ApprovalDecision decision,
                            std::optional<std::string> edited = std::nullopt) const;

  std::string gets_token(std::vector<std::string> scopes,
                         std::optional<Timestamp> expires_at = std::nullopt) {
    return give(input::UserToken{"secret", std::move(scopes), expires_at, "ci"});
  }

  std::string resumes() { return give(input::Resume{"operator"}); }

  std::string recovers() {
    ++lease_;
    return give(input::Recovered{});
  }

  std::string is_due() { return give(input::Due{}); }

  std::string give(const Input& input);
  /// The code of the refusal; nothing, if the input was taken.
  std::optional<ErrorCode> refuses(const Input& input);

  void pass_ms(std::int64_t ms) { now_ = now_.plus_ms(ms); }

  /// Writes an event that no decision made, as the supervisor does with a poisoned run.
  void write(const Event& event);

  // --- what is there
  const RunState& state() const { return state_; }

  const Context& context() const { return *context_; }

  const AgentVersion& agent() const { return *agent_; }

  std::shared_ptr<const ToolBook> book() const { return book_; }

  const std::vector<Event>& events() const { return events_; }

  const std::vector<Record>& records() const { return records_; }

  const std::vector<Blob>& blobs() const { return blobs_; }

  const Decided& last() const { return last_; }

  Timestamp now() const { return now_; }

  bool finished(StopReason reason) const { return state_.stop_reason == reason; }

  /// The last event of the type T; the story must have one.
  template <class T>
  const T& latest() const {
    for (auto event = events_.rbegin(); event != events_.rend(); ++event)
      if (const T* payload = std::get_if<T>(&event->payload)) return *payload;
    ADD_FAILURE() << "the story has no " << T::type;
    static const T none{};
    return none;
  }

  template <class T>
  int count() const {
    int n = 0;
    for (const Event& event : events_)
      n += std::holds_alternative<T>(event.payload);
    return n;
  }

 private:
  Result<Decided> decide_on(const Input& input) const;
  void take(Decided decided);
  void fold_context();

  std::shared_ptr<const AgentVersion> agent_;
  std::shared_ptr<const ToolBook> book_;
  RunState state_;
  std::unique_ptr<Context> context_;
  bool decision_point_ = false;
  std::unique_ptr<ReplayAnswers> replay_;
  std::vector<Event> events_;
  std::vector<Record> records_;
  std::vector<Blob> blobs_;
  Decided last_;
  Timestamp now_{1'764'000'000'000'000};
  std::uint32_t lease_ = 1;
  std::uint32_t drawn_ = 0;
};

/// The result of a call; fails the test where there is none.
const ToolResult& result_of(const RunStory& story, std::string_view call_id);
/// The newest request, whose hash is the one that was announced.
std::string request_of(const RunStory& story);
/// Every request that was ever announced can be derived again.
void expect_derivable(const RunStory& story);

}  // namespace ratchet::stories
