#include "runtime/run/outbox.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/event/fields.hpp"
#include "runtime/json/object.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

// What is told of an event. An event that is not told of adds nothing and returns false.

bool add(JsonObject& data, const ApprovalRequired& required) {
  data.text("approval_id", to_string(required.approval_id))
      .text("call_id", required.call_id)
      .text("tool", required.tool)
      .text("args_hash", to_string(required.args_hash))
      .time("expires_at", required.expires_at);
  return true;
}

bool add(JsonObject& data, const ApprovalReminded& reminded) {
  data.text("approval_id", to_string(reminded.approval_id)).text("call_id", reminded.call_id);
  return true;
}

bool add(JsonObject& data, const ApprovalDecided& decided) {
  data.text("approval_id", to_string(decided.approval_id))
      .text("call_id", decided.call_id)
      .text("decision", name(decided.decision))
      .text("reason", name(decided.reason))
      .text("by", decided.by)
      .text("effective_args_hash", to_string(decided.effective_args_hash));
  return true;
}

bool add(JsonObject& data, const RunPaused& paused) {
  append_json_texts(data.key("reasons"), paused.reasons, [](PauseReason reason) { return name(reason); });
  append_json_texts(
      data.key("approval_ids"), paused.approval_ids, [](const ApprovalId& id) { return to_string(id); });
  append_json_texts(data.key("call_ids"), paused.call_ids);
  data.time("expires_at", paused.expires_at);
  return true;
}

bool add(JsonObject& data, const RunFinished& finished) {
  data.text("stop_reason", name(finished.stop_reason))
      .number("steps", finished.steps)
      .money("cost_usd", finished.cost_usd);
  return true;
}

template <class Other>
bool add(JsonObject&, const Other&) {
  return false;
}

JsonObject& add_run(JsonObject& members, const RunRow& row, const Event& event) {
  return members.text("run_id", to_string(row.run_id))
      .number("step", event.step)
      .text("agent_id", row.agent_id)
      .text("user_id", row.user_id);
}

void add_envelope(JsonObject& body, const Event& event, std::string_view data) {
  body.text("type", type_name(event)).time("timestamp", event.at).raw("data", data);
}

std::string webhook_body(const Event& event, std::string_view data) {
  return json_object([&](JsonObject& body) { add_envelope(body, event, data); });
}

/// The form of a hook's question and that of a webhook in one.
std::string on_stop_body(const RunRow& row, const Event& event, std::string_view data) {
  return json_object([&](JsonObject& body) {
    body.text("at", name(HookPoint::on_stop));
    add_run(body, row, event).boolean("replay", row.replay_of.has_value());
    add_envelope(body, event, data);
  });
}

}  // namespace

std::string encode_outbox(const OutboxEntry& entry) {
  std::string out;
  fields::write(entry, out);
  return out;
}

Result<OutboxEntry> decode_outbox(std::string_view bytes) {
  OutboxEntry entry;
  if (const char* error = fields::read(bytes, entry))
    return fail(ErrorCode::corrupt, fmt::format("an entry of the outbox is damaged: {}", error));
  return entry;
}

std::string delivery_id(const OutboxEntry& entry) {
  return fmt::format("{}_{}_{}", to_string(entry.run_id), entry.seq, entry.n);
}

std::vector<OutboxEntry> outbox_entries(const AgentDefinition& agent,
                                        const RunRow& row,
                                        const std::vector<Event>& events) {
  std::vector<OutboxEntry> entries;
  const bool stop_hooks = std::any_of(agent.hooks.begin(), agent.hooks.end(), [](const HookRule& hook) {
    return hook.at == HookPoint::on_stop;
  });
  // A replay notifies nobody; of its hooks those of security are told, and that it is one.
  const bool replay = row.replay_of.has_value();
  const auto is_told_the_end = [&](const HookRule& hook) {
    return hook.at == HookPoint::on_stop && (!replay || hook.kind == HookKind::security);
  };
  // Most agents tell nobody anything, and every append comes by here.
  if (!stop_hooks && agent.approval.notify_url.empty()) return entries;
  for (const Event& event : events) {
    bool is_told = false;
    const std::string data = json_object([&](JsonObject& object) {
      add_run(object, row, event).number("seq", event.seq);
      is_told = std::visit([&](const auto& payload) { return add(object, payload); }, event.payload);
    });
    if (!is_told) continue;
    std::uint32_t n = 0;
    const auto tell = [&](const std::string& url, std::string body, bool on_stop) {
      OutboxEntry entry;
      entry.due_at = entry.created_at = event.at;
      entry.run_id = row.run_id;
      entry.seq = event.seq;
      entry.n = n++;
      entry.type = type_name(event);
      entry.url = url;
      entry.body = std::move(body);
      entry.on_stop = on_stop;
      entries.push_back(std::move(entry));
    };
    if (std::holds_alternative<RunFinished>(event.payload)) {
      for (const HookRule& hook : agent.hooks)
        if (is_told_the_end(hook)) tell(hook.url, on_stop_body(row, event, data), true);
    } else if (!agent.approval.notify_url.empty() && !replay) {
      tell(agent.approval.notify_url, webhook_body(event, data), false);
    }
  }
  return entries;
}

std::optional<OutboxEntry> put_off(OutboxEntry entry, Timestamp now) {
  ++entry.attempts;
  const auto doublings = std::min<std::uint32_t>(entry.attempts - 1, 20);
  entry.due_at =
      now.plus_ms(std::min(limits::webhook_retry_min_ms << doublings, limits::webhook_retry_max_ms));
  if (ms_between(entry.created_at, entry.due_at) > limits::webhook_give_up_ms) return std::nullopt;
  return entry;
}

}  // namespace ratchet
