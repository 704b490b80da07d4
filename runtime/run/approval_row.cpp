#include "runtime/run/approval_row.hpp"

#include <algorithm>

#include "runtime/event/fields.hpp"

namespace ratchet {

namespace {

/// The row of an approval when it was asked for.
ApprovalRow asked_row(const RunState& state, const ApprovalRequired& required, const Event& event) {
  const RunStarted& started = *state.started;
  ApprovalRow row;
  row.approval_id = required.approval_id;
  row.run_id = state.run_id;
  row.root_run_id = started.root_run_id;
  row.team = started.team;
  row.agent_id = started.agent_id;
  row.user_id = started.user_id;
  row.call_id = required.call_id;
  row.tool = required.tool;
  row.args_hash = required.args_hash;
  row.required_seq = event.seq;
  row.asked_at = event.at;
  row.expires_at = required.expires_at;
  return row;
}

/// The same, from what the state still knows of it.
ApprovalRow asked_row(const RunState& state, const OpenCall& call) {
  ApprovalRequired required;
  required.approval_id = call.approval->id;
  required.call_id = call.call_id;
  required.tool = call.tool;
  required.args_hash = call.args_hash;
  required.expires_at = call.approval->expires_at;
  Event event;
  event.seq = call.approval->seq;
  event.at = call.approval->asked_at;
  return asked_row(state, required, event);
}

void decide(ApprovalRow& row, const ApprovalDecided& decided, const Event& event) {
  row.status = decided.reason == DecidedBy::expired ? ApprovalStatus::expired : ApprovalStatus::decided;
  row.decision = decided.decision;
  row.reason = decided.reason;
  row.decided_at = event.at;
  row.decided_seq = event.seq;
  row.effective_args_hash = decided.effective_args_hash;
  row.by = decided.by;
}

}  // namespace

std::string encode_approval(const ApprovalRow& row) {
  std::string out;
  fields::write(row, out);
  return out;
}

Result<ApprovalRow> decode_approval(std::string_view bytes) {
  ApprovalRow row;
  if (const char* error = fields::read(bytes, row))
    return fail(ErrorCode::corrupt, std::string("an approval's row is damaged: ") + error);
  return row;
}

std::vector<ApprovalRow> approval_rows(const RunState& before, const std::vector<Event>& events) {
  std::vector<ApprovalRow> rows;
  for (const Event& event : events) {
    if (const auto* required = std::get_if<ApprovalRequired>(&event.payload)) {
      rows.push_back(asked_row(before, *required, event));
    } else if (const auto* decided = std::get_if<ApprovalDecided>(&event.payload)) {
      auto row = std::find_if(rows.begin(), rows.end(), [&](const ApprovalRow& each) {
        return each.approval_id == decided->approval_id;
      });
      if (row == rows.end()) {
        const OpenCall* call = before.find_asked(decided->approval_id);
        RATCHET_ENSURE(call, "what is decided was asked for");
        row = rows.insert(rows.end(), asked_row(before, *call));
      }
      decide(*row, *decided, event);
    }
  }
  return rows;
}

}  // namespace ratchet
