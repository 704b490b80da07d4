#pragma once
// Hooks at `pre_tool` and `post_tool`: services of a team that see a call before it is judged further, and
// may refuse it or change its arguments; or its result before anybody else does, and may withhold or change
// that. At `pre_model` they may refuse a model call, or tell the model something in it. What they are asked,
// and what their answers mean. A security hook that does not give a verdict has refused; a logging hook is
// asked and not listened to.

#include <cstddef>
#include <string>

#include "runtime/agent.hpp"
#include "runtime/observer.hpp"
#include "runtime/result.hpp"
#include "runtime/tools/call_end.hpp"
#include "runtime/tools/connector.hpp"
#include "runtime/tools/facts.hpp"

namespace ratchet {

/// The request that asks `hook` about the call (the model's, where there is no tool), or, where `end` is
/// given, about its result: to its own address and no other, within limits::hook_timeout_ms.
ConnectorCall hook_call(const HookRule& hook, const JudgeQuestion& question, const CallEnd* end = nullptr);

struct HookAnswer {
  HookOutcome outcome = HookOutcome::failed;
  std::string reason;   ///< its own words, or why there is no verdict; at most limits::hook_reason_bytes_max
  std::string rewrite;  ///< of a rewrite: arguments as canonical JSON, or the text of a result
  std::string context;  ///< at `pre_model`: at most limits::hook_context_bytes_max
};

/// The answer in `outcome`: status 200 and `{verdict: allow|deny|rewrite, reason?, args?, result?,
/// context?}`. A rewrite has `args`, an object, at `pre_tool`; `result`, a text, at `post_tool`; and nothing
/// else has them. At `pre_model` there is nothing to rewrite, and an `allow` may have `context`, a text.
/// Anything else is `failed`.
HookAnswer read_hook_answer(HookPoint at, const ConnectorOutcome& outcome);

/// Takes what security hook `number` (its place in the definition, from 1) said into account: `facts` are of
/// the hooks so far, and the call's arguments in `question` change with a rewrite. Arguments that break the
/// tool's schema go no further.
void take_answer(HookFacts& facts, JudgeQuestion& question, std::size_t number, HookAnswer answer);

/// Takes what security hook `number` said of the model call into account. False: no further hook is asked.
bool take_answer(ModelFacts& facts, std::size_t number, HookAnswer answer);

/// Whether a call that ended so has a result for hooks to see: the tool's own words.
bool has_result(const CallEnd& end);

/// Takes what security hook `number` said of the result into account. False: it is withheld, and in its place
/// stands a text that says so. The call has happened: its status stays as it was.
bool take_answer(CallEnd& end, std::size_t number, HookAnswer answer);

/// Withholds a result that no hook can be asked about.
void withhold(CallEnd& end, std::string_view why);

}  // namespace ratchet
