#include "runtime/run/outbox.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/event/fields.hpp"
#include "runtime/json/writer.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

/// Members of a JSON object, in the order in which they are said.
class Members {
 public:
  Members& text(std::string_view name, std::string_view value) {
    append_json_string(member(name), value);
    return *this;
  }

  Members& number(std::string_view name, std::int64_t value) {
    append_json_number(member(name), value);
    return *this;
  }

  template <class Items, class Word>
  Members& list(std::string_view name, const Items& items, Word word) {
    member(name) += '[';
    for (const auto& item : items) {
      if (&item != &items.front()) json_ += ',';
      append_json_string(json_, word(item));
    }
    json_ += ']';
    return *this;
  }

  Members& json(std::string_view name, std::string_view value) {
    member(name) += value;
    return *this;
  }

  std::string object() const { return '{' + json_ + '}'; }

 private:
  std::string& member(std::string_view name) {
    if (!json_.empty()) json_ += ',';
    append_json_string(json_, name);
    json_ += ':';
    return json_;
  }

  std::string json_;
};

// What is told of an event. An event that is not told of adds nothing and returns false.

bool add(Members& data, const ApprovalRequired& required) {
  data.text("approval_id", to_string(required.approval_id))
      .text("call_id", required.call_id)
      .text("tool", required.tool)
      .text("args_hash", to_string(required.args_hash))
      .text("expires_at", to_string(required.expires_at));
  return true;
}

bool add(Members& data, const ApprovalReminded& reminded) {
  data.text("approval_id", to_string(reminded.approval_id)).text("call_id", reminded.call_id);
  return true;
}

bool add(Members& data, const ApprovalDecided& decided) {
  data.text("approval_id", to_string(decided.approval_id))
      .text("call_id", decided.call_id)
      .text("decision", name(decided.decision))
      .text("reason", name(decided.reason))
      .text("by", decided.by)
      .text("effective_args_hash", to_string(decided.effective_args_hash));
  return true;
}

bool add(Members& data, const RunPaused& paused) {
  data.list("reasons", paused.reasons, [](PauseReason reason) { return name(reason); })
      .list("approval_ids", paused.approval_ids, [](const ApprovalId& id) { return to_string(id); })
      .list("call_ids", paused.call_ids, [](const std::string& id) { return id; })
      .text("expires_at", to_string(paused.expires_at));
  return true;
}

bool add(Members& data, const RunFinished& finished) {
  data.text("stop_reason", name(finished.stop_reason))
      .number("steps", finished.steps)
      .text("cost_usd", to_string(finished.cost_usd));
  return true;
}

template <class Other>
bool add(Members&, const Other&) {
  return false;
}

Members& add_run(Members& members, const RunRow& row, const Event& event) {
  return members.text("run_id", to_string(row.run_id))
      .number("step", event.step)
      .text("agent_id", row.agent_id)
      .text("user_id", row.user_id);
}

Members& add_envelope(Members& members, const Event& event, const Members& data) {
  return members.text("type", type_name(event))
      .text("timestamp", to_string(event.at))
      .json("data", data.object());
}

std::string webhook_body(const Event& event, const Members& data) {
  Members body;
  return add_envelope(body, event, data).object();
}

/// The form of a hook's question and that of a webhook in one.
std::string on_stop_body(const RunRow& row, const Event& event, const Members& data) {
  Members body;
  body.text("at", name(HookPoint::on_stop));
  add_run(body, row, event).json("replay", "false");
  return add_envelope(body, event, data).object();
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
  for (const Event& event : events) {
    Members data;
    add_run(data, row, event).number("seq", static_cast<std::int64_t>(event.seq));
    if (!std::visit([&](const auto& payload) { return add(data, payload); }, event.payload)) continue;
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
        if (hook.at == HookPoint::on_stop) tell(hook.url, on_stop_body(row, event, data), true);
    } else if (!agent.approval.notify_url.empty()) {
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
