#include "tests/sim/checks.hpp"

#include "runtime/audit/auditor.hpp"
#include "runtime/context/inspect.hpp"
#include "runtime/model/wire.hpp"
#include "runtime/replay/verify.hpp"

namespace ratchet::sim {

namespace {

void audit(Simulation& sim) {
  Auditor auditor;
  for (const auto& [run, told] : sim.witness.runs()) {
    const auto records = sim.journal.records(run, 1, SIZE_MAX);
    const auto row = sim.journal.row(run);
    if (!records || !row) {
      sim.witness.complain(to_string(run) + " cannot be read");
      continue;
    }
    if (!(*records == told.records)) sim.witness.complain(to_string(run) + ": the journal has other records");
    for (const Record& record : *records)
      auditor.add(run, record);
    auditor.expect(run, row->last_seq, row->head);
    if (row->status != RunStatus::finished)
      sim.witness.complain(fmt::format("{} is {} and nothing moves it", to_string(run), name(row->status)));
  }
  for (const Violation& violation : auditor.findings())
    sim.witness.complain(to_string(violation));
}

/// No effect happened twice, and what the journal says of an effect is what the other side knows.
void check_effects(Simulation& sim) {
  for (const std::string& key : sim.world.repeated())
    sim.witness.complain(fmt::format("{} had its effect {} times", key, sim.world.effects(key)));
  for (const auto& [run, told] : sim.witness.runs()) {
    std::map<std::string, std::pair<std::string, bool>> calls;  // by call: its key, and whether it acts
    for (const Event& event : told.events) {
      if (const auto* requested = std::get_if<ToolRequested>(&event.payload))
        calls[requested->call_id] = {fmt::format("{}/{}/{}", to_string(run), event.step, requested->call_id),
                                     requested->side_effects != SideEffects::none};
      const auto* result = std::get_if<ToolResult>(&event.payload);
      if (!result || result->status == ToolStatus::cancelled) continue;
      const auto& [key, acts] = calls[result->call_id];
      const int effects = sim.world.effects(key);
      if (acts && effects != (result->status == ToolStatus::ok ? 1 : 0))
        sim.witness.complain(
            fmt::format("{} ends with {} and had {} effects", key, name(result->status), effects));
    }
  }
}

std::string without_marks(std::string bytes) {
  for (std::size_t at = 0; (at = bytes.find(cache_mark, at)) != std::string::npos;)
    bytes.erase(at, cache_mark.size());
  return bytes;
}

/// Whether the event changes what was in the context, as the journal shows.
bool rewrites(const RunStarted& started, const Event& event) {
  if (std::holds_alternative<ContextCompacted>(event.payload)) return true;
  const auto* paused = std::get_if<RunPaused>(&event.payload);
  return paused && started.context.strategy == ContextStrategy::layered &&
         std::find(paused->reasons.begin(), paused->reasons.end(), PauseReason::message) !=
             paused->reasons.end();
}

/// A message that was received is shown once, to the step that it joined and to all after it, unless a note
/// has taken its place.
void check_messages(Simulation& sim,
                    const RunId& run,
                    const std::vector<Event>& events,
                    const std::string& shown) {
  std::uint64_t covered = 0, covered_then = 0, last_step = 0;
  for (const Event& event : events) {
    if (const auto* compacted = std::get_if<ContextCompacted>(&event.payload)) covered = compacted->up_to_seq;
    const auto* requested = std::get_if<ModelRequested>(&event.payload);
    if (!requested || requested->purpose != CallPurpose::step) continue;
    last_step = event.seq;
    covered_then = covered;
  }
  for (const Event& event : events) {
    const auto* message = std::get_if<MessageReceived>(&event.payload);
    if (!message || message->content.empty() || event.seq > last_step) continue;
    const auto joined = std::find_if(events.begin(), events.end(), [&](const Event& each) {
      return each.seq > event.seq && std::holds_alternative<ModelRequested>(each.payload);
    });
    const Block& block = message->content.front();
    const std::string& text = block.artifact ? block.artifact->head : block.text;
    const std::string name = text.substr(0, text.find('.') + 1);
    const auto at = shown.find(name);
    const bool once = at != std::string::npos && shown.find(name, at + 1) == std::string::npos;
    if (once == (joined->seq <= covered_then))
      sim.witness.complain(fmt::format("{}: '{}' is not once in the context", to_string(run), name));
  }
}

/// Every request is derived from the journal again; each begins with the whole of the one before it, unless
/// the journal shows what lies between.
void check_requests(Simulation& sim, const RunId& run, const std::vector<Event>& events) {
  const auto& started = std::get<RunStarted>(events.front().payload);
  const Block& input = started.input.front();
  const std::string& words = input.artifact ? input.artifact->head : input.text;
  const std::string task = words.substr(0, std::min<std::size_t>(words.find_first_of("\"\\\n"), 8));
  std::string before, last;
  std::optional<std::uint32_t> provider;
  for (const Event& event : events) {
    if (rewrites(started, event)) {
      before.clear();
      provider.reset();
      if (std::holds_alternative<RunPaused>(event.payload)) ++sim.seen["context shrunk after a turn"];
    }
    const auto* requested = std::get_if<ModelRequested>(&event.payload);
    if (!requested) continue;
    const std::string what = fmt::format("{}: the request of event {}", to_string(run), event.seq);
    auto bytes = request_bytes(*sim.agent.version, events, event.step, requested->attempt);
    if (!bytes) {
      sim.witness.complain(what + ": " + bytes.error().text);
      continue;
    }
    std::string prompt = without_marks(std::move(*bytes));
    const std::string tail = render_tail(
        started.model.providers[requested->provider], requested->max_tokens, requested->late_message(), true);
    if (!prompt.ends_with(tail)) sim.witness.complain(what + " has another tail");
    prompt.resize(prompt.size() - std::min(tail.size(), prompt.size()));
    if (!(sha256(prompt) == requested->prompt_hash)) sim.witness.complain(what + " has another prompt hash");
    const bool compaction = requested->purpose == CallPurpose::compaction;
    // A compaction is shown less than the step before it was, or more.
    const bool same = prompt.starts_with(before) || (compaction && before.starts_with(prompt));
    if (provider == requested->provider && !same)
      sim.witness.complain(what + " does not begin with the one before");
    if (prompt.find(task) == std::string::npos) sim.witness.complain(what + " has lost the task");
    if (compaction) continue;
    before = last = std::move(prompt);
    provider = requested->provider;
  }
  if (!last.empty()) check_messages(sim, run, events, last);
}

/// What a client was told is in the journal, still.
void check_promises(Simulation& sim) {
  for (const Witness::Promise& promise : sim.witness.promises()) {
    const auto records = sim.journal.records(promise.run, promise.seq, 1);
    const Event* found = nullptr;
    if (records)
      for (const Record& record : *records)
        for (const Event& event : record.events)
          if (event.seq == promise.seq) found = &event;
    if (!found || !keeps(*found, promise.input))
      sim.witness.complain(
          fmt::format("{}: event {} was promised and is not there", to_string(promise.run), promise.seq));
  }
}

/// Artifacts have the bytes that their references say.
void check_artifacts(Simulation& sim) {
  for (const auto& [run, told] : sim.witness.runs()) {
    for (const ArtifactId& id : told.artifacts) {
      const auto info = sim.journal.artifact(id);
      const auto bytes = sim.journal.blob(id, 0, SIZE_MAX);
      const bool whole = info && bytes && info->run == run && bytes->size() == info->ref.bytes &&
                         sha256(*bytes) == info->ref.sha256 && bytes->starts_with(info->ref.head);
      if (!whole)
        sim.witness.complain(fmt::format("{}: artifact {} is not whole", to_string(run), to_string(id)));
    }
  }
}

/// A token is sealed beside the journal while its run lives, and nowhere else.
void check_tokens(Simulation& sim) {
  for (const auto& [run, told] : sim.witness.runs()) {
    if (sim.journal.user_token(run)) sim.witness.complain(to_string(run) + " is over and its token is kept");
    for (const Record& record : told.records)
      if (encode(record).find("token-") != std::string::npos)
        sim.witness.complain(to_string(run) + ": a token stands in the journal");
  }
}

/// Rows of approvals say what the events say.
void check_approvals(Simulation& sim) {
  for (const auto& [run, told] : sim.witness.runs()) {
    for (const Event& event : told.events) {
      const auto* required = std::get_if<ApprovalRequired>(&event.payload);
      if (!required) continue;
      const auto row = sim.journal.approval(run, required->approval_id);
      const bool sound = row && row->required_seq == event.seq && row->args_hash == required->args_hash &&
                         row->status != ApprovalStatus::pending;
      if (!sound) sim.witness.complain(to_string(required->approval_id) + " has another row, or none");
    }
  }
}

/// This build decides a recorded run again as it was decided: `ratchet replay --verify` finds no difference
/// where there is none.
void check_decisions(Simulation& sim) {
  for (const auto& [run, told] : sim.witness.runs()) {
    if (told.records.empty()) continue;
    RecordedRun record{run, told.records, {}, false};
    for (const ArtifactId& id : told.artifacts)
      if (auto bytes = sim.journal.blob(id, 0, SIZE_MAX)) record.artifacts[id] = std::move(*bytes);
    const auto again = decide_again(sim.agent.version, record);
    if (!again) {
      sim.witness.complain(fmt::format("{} cannot be decided again: {}", to_string(run), again.error().text));
    } else if (*again) {
      const Divergence& other = **again;
      sim.witness.complain(
          fmt::format("{} event {} is decided otherwise: {}", to_string(run), other.seq, other.text));
    }
  }
}

}  // namespace

void check_everything(Simulation& sim) {
  audit(sim);
  check_tokens(sim);
  check_approvals(sim);
  check_effects(sim);
  check_promises(sim);
  check_artifacts(sim);
  check_decisions(sim);
  for (const auto& [run, told] : sim.witness.runs())
    if (!told.events.empty()) check_requests(sim, run, told.events);
}

}  // namespace ratchet::sim
