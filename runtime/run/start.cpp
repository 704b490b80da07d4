#include "runtime/run/start.hpp"

#include "runtime/limits.hpp"
#include "runtime/replay/take_over.hpp"
#include "runtime/run/draft.hpp"
#include "runtime/run/outstanding.hpp"

namespace ratchet {

RunStarted started_of(const AgentVersion& agent, const ModelConfig& model, std::string harness_version) {
  const AgentDefinition& definition = agent.definition;
  RunStarted started;
  started.agent_id = definition.agent_id;
  started.agent_version = agent.version;
  started.agent_digest = definition.digest;
  for (const ToolManifest& tool : agent.tools)
    started.tools.push_back({tool.name, tool.digest});
  started.model = model;
  started.settings = definition.settings;
  started.budgets = definition.budgets;
  started.harness_version = std::move(harness_version);
  started.result_cap_tokens = definition.result_cap_tokens;
  started.interactive = definition.interactive;
  started.pre_model_hooks = definition.has_hooks_at(HookPoint::pre_model);
  started.context = definition.context;
  if (!definition.subagents.allow.empty()) started.subagent_levels = definition.subagents.max_depth;
  return started;
}

std::uint64_t draw_seed(Entropy& entropy) {
  const auto drawn = entropy.draw();
  std::uint64_t seed = 0;
  for (int i = 0; i < 6; ++i)
    seed = seed << 8 | drawn[i];
  return seed;
}

Decided start_run(const RunId& run_id, RunStarted started, Stamp& stamp) {
  // There is no state to draft on yet: the content is stored as `Draft` does it, then the one event is made.
  Decided decision;
  std::uint32_t n = 0;
  const Shown shown = shown_of_words(started);
  for (Block& block : started.input) {
    auto artifact = spill(block, n + 1, shown, stamp);
    if (!artifact) continue;
    ++n;
    decision.blobs.push_back(std::move(*artifact));
  }
  started.root_run_id = started.root_run_id.empty() ? run_id : started.root_run_id;
  Event event;
  event.seq = 1;
  event.at = stamp.at;
  event.lease_version = 1;
  event.payload = std::move(started);
  decision.after.run_id = run_id;
  apply(decision.after, event);
  decision.events.push_back(std::move(event));
  decision.accepted_seq = 1;
  return decision;
}

FirstAppend first_append(const RunId& run_id, RunStarted started, RecordPacker pack, Stamp& stamp) {
  return first_append(start_run(run_id, std::move(started), stamp), pack, stamp);
}

FirstAppend first_append(Decided decided, RecordPacker pack, Stamp& stamp) {
  Record record;
  record.salt = stamp.entropy.draw();
  record.events = std::move(decided.events);
  const std::string bytes = encode(record);
  FirstAppend first;
  first.append.first_seq = 1;
  first.append.events = static_cast<std::uint32_t>(record.events.size());
  first.append.record = pack(bytes);
  first.append.row = row_of(decided.after);
  first.append.row.lease = 1;
  first.append.row.head = *chain_head(bytes);
  first.append.blobs = std::move(decided.blobs);
  first.append.snapshots = snapshots_of(record.events);
  first.started = std::make_shared<const std::pair<RunRow, Record>>(first.append.row, std::move(record));
  return first;
}

}  // namespace ratchet
