#include "tests/sim/witness.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "store/pack.hpp"

namespace ratchet::sim {

namespace {

const Content* content_of(const Event& event) {
  if (const auto* started = std::get_if<RunStarted>(&event.payload)) return &started->input;
  if (const auto* message = std::get_if<MessageReceived>(&event.payload)) return &message->content;
  if (const auto* result = std::get_if<ToolResult>(&event.payload)) return &result->content;
  return nullptr;
}

}  // namespace

bool keeps(const Event& event, const Input& input) {
  if (const auto* message = std::get_if<input::Message>(&input)) {
    const auto* received = std::get_if<MessageReceived>(&event.payload);
    return received && received->content_hash == content_hash(message->content) &&
           received->idempotency_key == message->idempotency_key;
  }
  if (const auto* resolve = std::get_if<input::Resolve>(&input)) {
    const auto* resolved = std::get_if<CallResolved>(&event.payload);
    return resolved && resolved->call_id == resolve->call_id && resolved->outcome == resolve->outcome;
  }
  if (const auto* decide = std::get_if<input::Decide>(&input)) {
    const auto* decided = std::get_if<ApprovalDecided>(&event.payload);
    return decided && decided->approval_id == decide->approval_id && decided->decision == decide->decision &&
           (!decide->edited_args || sha256(decide->edited_args->text) == decided->effective_args_hash);
  }
  if (std::holds_alternative<input::UserToken>(input))
    return std::holds_alternative<UserTokenReceived>(event.payload);
  if (std::holds_alternative<input::Cancel>(input))
    return std::holds_alternative<RunCancelRequested>(event.payload);
  if (std::holds_alternative<input::Resume>(input)) return std::holds_alternative<RunResumed>(event.payload);
  return false;
}

template <class T>
const T* Witness::find_last(const RunId& run, auto&& matches) const {
  const auto found = runs_.find(run);
  if (found == runs_.end()) return nullptr;
  const auto& events = found->second.events;
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    const T* payload = std::get_if<T>(&event->payload);
    if (payload && matches(*event, *payload)) return payload;
  }
  return nullptr;
}

void Witness::complain(std::string text) {
  complaints_.push_back(std::move(text));
}

void Witness::wrote(const RunAppend& append) {
  if (append.events == 0) return;
  const auto unpacked = unpack_record(append.record);
  const auto record = unpacked ? decode_record(*unpacked) : Result<Record>(tl::unexpected(unpacked.error()));
  if (!record) return complain("a durable record does not decode: " + record.error().text);
  Run& run = runs_[append.row.run_id];
  for (const Event& event : record->events) {
    run.events.push_back(event);
    if (const Content* content = content_of(event))
      for (const Block& block : *content)
        if (block.artifact) run.artifacts.push_back(block.artifact->id);
  }
  run.records.push_back(*record);
}

void Witness::published(const RunId& run, std::uint64_t activation, const std::vector<Event>& events) {
  const std::vector<Event>& durable = runs_[run].events;
  std::uint64_t& spoken = spoken_[activation];
  for (const Event& event : events) {
    if (event.seq > durable.size() || !(durable[event.seq - 1] == event))
      complain(fmt::format("{}: event {} is told of and is not durable", to_string(run), event.seq));
    if (spoken != 0 && event.seq != spoken + 1)
      complain(fmt::format("{}: event {} is told of after event {}", to_string(run), event.seq, spoken));
    spoken = event.seq;
  }
}

void Witness::promised(Promise promise) {
  const std::vector<Event>& durable = runs_[promise.run].events;
  const bool kept =
      promise.seq > 0 && promise.seq <= durable.size() && keeps(durable[promise.seq - 1], promise.input);
  if (!kept)
    complain(fmt::format("{}: a command was answered with event {}, which does not say so",
                         to_string(promise.run),
                         promise.seq));
  promises_.push_back(std::move(promise));
}

void Witness::sent(const ModelCall& call) {
  const auto* requested =
      find_last<ModelRequested>(call.run_id, [&](const Event& event, const ModelRequested& payload) {
        return event.step == call.step && payload.attempt == call.attempt;
      });
  const std::string what =
      fmt::format("{}: attempt {} of step {}", to_string(call.run_id), call.attempt, call.step);
  if (!requested) return complain(what + " is sent before it is durable");
  if (requested->provider != call.provider) complain(what + " goes to another provider than announced");
  std::string bytes;
  for (const auto& piece : call.body)
    bytes += *piece;
  if (!(sha256(bytes) == requested->request_hash)) complain(what + " has other bytes than its hash says");
}

void Witness::started(const RunId& run, const action::StartCall& start) {
  const std::string& call_id = start.effect.call_id;
  const std::string what = fmt::format("{}: attempt {} of {}", to_string(run), start.effect.attempt, call_id);
  const auto* planned = find_last<ToolPlanned>(run, [&](const Event&, const ToolPlanned& payload) {
    return payload.call_id == call_id && payload.attempt == start.effect.attempt;
  });
  if (!planned) return complain(what + " is started before it is durable");
  if (planned->idempotency_key != start.idempotency_key)
    complain(what + " runs under another key than planned");
  if (planned->execution != start.execution) complain(what + " does something else than planned");
  if (!(planned->args_hash == sha256(start.args))) complain(what + " runs other arguments than planned");
  const ToolManifest& tool = *start.tool;
  if (tool.uses_workspace()) {
    const auto* files = find_last<ToolResult>(
        run, [](const Event&, const ToolResult& result) { return result.workspace.has_value(); });
    if (start.workspace != (files ? files->workspace : std::nullopt))
      complain(what + " starts from other files than the call before it left");
  }
  if (tool.side_effects == SideEffects::none || tool.idempotency != Idempotency::none) return;
  // Without idempotency only a person's word allows another execution.
  const auto& events = runs_[run].events;
  const auto words = std::count_if(events.begin(), events.end(), [&](const Event& event) {
    const auto* resolved = std::get_if<CallResolved>(&event.payload);
    return resolved && resolved->call_id == call_id && resolved->outcome == CallOutcome::did_not_happen;
  });
  if (++starts_[start.idempotency_key] > 1 + static_cast<std::uint32_t>(words))
    complain(what + " runs again although nobody said that it did not happen");
}

}  // namespace ratchet::sim
