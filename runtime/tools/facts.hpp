#pragma once
// What has to be asked outside before a call can be judged: hooks, and a policy decision point. Gathered by
// the tool broker, judged by the version's ToolBook, and recorded in the verdict: no rule asks the world.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/agent.hpp"
#include "runtime/ids.hpp"
#include "runtime/tools/call_end.hpp"

namespace ratchet {

/// The word of the hooks at `pre_tool`.
struct HookFacts {
  bool denied = false;
  std::string word = "ok";          ///< for the event: "ok", "rewritten by …", or who denied it and why
  std::optional<std::string> args;  ///< canonical JSON: what a hook made of the arguments
};

/// The word of the decision point on the arguments after the hooks.
struct AuthorizerFacts {
  bool allowed = false;
  std::string word =
      "ok";  ///< for the event; where it is not allowed, why (a fault is a denial, and says so)
};

/// Absent: nobody had to be asked.
struct CallFacts {
  std::optional<HookFacts> hooks;
  std::optional<AuthorizerFacts> authorizer;
};

/// The word of the hooks at `pre_model` on the model call that comes next.
struct ModelFacts {
  /// clear: it may be made.   denied: a hook has refused it.   unanswered: a security hook gave no verdict.
  enum class Outcome { clear, denied, unanswered } outcome = Outcome::clear;
  std::string word = {};     ///< who refused it and why
  std::string context = {};  ///< what the model is to be told in this one request
};

/// A call about which facts are to be gathered; of a model call, without `call_id`, `args` and `tool`.
struct JudgeQuestion {
  RunId run_id, root_run_id;
  std::string team, agent_id, user_id;
  std::uint32_t agent_version = 0, step = 0;
  std::string call_id;
  std::vector<std::string> scopes;           ///< of the user's token
  std::string args;                          ///< canonical JSON; they fit the tool's schema
  std::shared_ptr<const ToolManifest> tool;  ///< these two keep the whole version alive
  std::shared_ptr<const AgentVersion> agent;
  bool hooks = false;  ///< ask the version's hooks at `pre_tool`
  bool decision_point =
      false;            ///< ask the server's decision point, about what the hooks made of the arguments
  bool replay = false;  ///< of a replay: only security hooks are asked, and told so
  bool more = false;    ///< another question of the same reply follows at once: they may be asked together
};

/// Gathers facts outside of the process.
class Judge {
 public:
  virtual ~Judge() = default;
  using Ticket = std::uint64_t;
  using OnFacts = std::function<void(CallFacts)>;
  /// Returns at once; `on_facts` runs once, on another thread or on this one, unless `cancel` came before. It
  /// always has an answer: whatever cannot be asked is a denial by the rules of hooks and decision points.
  /// From any thread.
  virtual Ticket start(JudgeQuestion question, OnFacts on_facts) = 0;
  /// After it returns, `on_facts` does not begin any more.
  virtual void cancel(Ticket ticket) = 0;
};

/// Asks the version's hooks that do not judge calls of tools: those at `post_tool`, which see what a call
/// returned before anybody else does, and those at `pre_model`.
class Reviewer {
 public:
  virtual ~Reviewer() = default;
  using Ticket = std::uint64_t;
  using OnEnd = std::function<void(CallEnd)>;
  /// As `Judge::start`: what `on_end` gets is what the hooks made of `end`. `question` is of the call as it
  /// ran.
  virtual Ticket review(JudgeQuestion question, CallEnd end, OnEnd on_end) = 0;
  virtual void cancel_review(Ticket ticket) = 0;

  using OnBriefed = std::function<void(ModelFacts)>;
  /// As `Judge::start`, about the model call of `question.step`.
  virtual Ticket brief(JudgeQuestion question, OnBriefed on_briefed) = 0;
  virtual void cancel_brief(Ticket ticket) = 0;
};

}  // namespace ratchet
