#pragma once
// What a replay changes, as it stands in its `run.started` (ReplayOrigin::patch): a canonical JSON object.
// The version that the replay goes by follows from the registered one and this patch, and from nothing else:
//
// - system_prompt, tools, policy take the place of the definition's, each as a whole;
// - model, budgets: the members that are given take the place of the definition's; a string alone names a
//   model;
// - input takes the place of the run's;
// - mocks, {tool: result}, is what a call is answered with where nothing is executed for it;
// - manifests, of tools that the registered version does not have, are put in when the replay begins, so that
//   later changes of a tool do not change it; they are never part of a request.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/agent.hpp"
#include "runtime/content.hpp"
#include "runtime/result.hpp"

namespace ratchet {

/// The patch of a replay of a replay: `patch` on top of what the replayed one had changed already. Its mocks
/// are of `patch` alone: what was mocked then is in the record now.
Result<Json> combine(const Json& before, const Json& patch);

/// Puts manifests into a patch, each as its source.
Result<Json> with_manifests(const Json& patch, const std::vector<std::string>& manifests);

/// The tools that the patch names and that neither `base` nor its manifests have.
Result<std::vector<std::string>> tools_to_pin(const AgentVersion& base, const Json& patch);

/// The version by which a replay goes: `base` itself, if the patch changes nothing of it. Errors: of
/// `parse_agent` and `check_agent`, with a pointer into the patch; invalid_definition, for a tool without a
/// manifest.
Result<std::shared_ptr<const AgentVersion>> patched(std::shared_ptr<const AgentVersion> base,
                                                    const Json& patch);

/// The text that stands for a result, by tool: a string as it is, any other value as JSON. Errors:
/// not_replayable, for more than limits::replay_mocks_max.
Result<std::map<std::string, std::string, std::less<>>> mocks_of(const Json& patch);

/// The patch without its other members.
Json only(const Json& patch, std::string_view member);

/// Whether the patch has this member.
bool changes(const Json& patch, std::string_view member);

}  // namespace ratchet
