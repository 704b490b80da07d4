#pragma once
// Hooks at `pre_tool`: services of a team that see a call before it is judged further, and may refuse it or
// change its arguments. What they are asked, and what their answers mean. A security hook that does not give
// a verdict has refused the call; a logging hook is asked and not listened to.

#include <cstddef>
#include <string>

#include "runtime/agent.hpp"
#include "runtime/observer.hpp"
#include "runtime/result.hpp"
#include "runtime/tools/connector.hpp"
#include "runtime/tools/facts.hpp"

namespace ratchet {

/// The request that asks `hook` about the call: to its own address and no other, within
/// limits::hook_timeout_ms.
ConnectorCall hook_call(const HookRule& hook, const JudgeQuestion& question);

struct HookAnswer {
  HookOutcome outcome = HookOutcome::failed;
  std::string reason;  ///< its own words, or why there is no verdict; at most limits::hook_reason_bytes_max
  std::string args;    ///< of a rewrite: canonical JSON
};

/// The answer in `outcome`: status 200 and `{verdict: allow|deny|rewrite, reason?, args?}`, with `args` an
/// object where the verdict is rewrite and only there. Anything else is `failed`.
HookAnswer read_hook_answer(const ConnectorOutcome& outcome);

/// Takes what security hook `number` (its place in the definition, from 1) said into account: `facts` are of
/// the hooks so far, and the call's arguments in `question` change with a rewrite. Arguments that break the
/// tool's schema go no further.
void take_answer(HookFacts& facts, JudgeQuestion& question, std::size_t number, HookAnswer answer);

}  // namespace ratchet
