#include "runtime/context/carried.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

constexpr std::string_view notes_tool = "notes_write";

std::string shortened(std::string_view text) {
  const std::size_t size = utf8_cut(text, limits::carried_text_bytes_max);
  std::string out(text.substr(0, size));
  if (size < text.size()) out += "…";
  return out;
}

std::string call_text(std::string_view tool, const Json& args) {
  return fmt::format("{} {}", tool, shortened(args.text));
}

std::string_view word_of(const ApprovalDecided& decided) {
  switch (decided.reason) {
    case DecidedBy::person:
      return decided.decision == ApprovalDecision::approve ? "approved" : "rejected";
    case DecidedBy::expired:
      return "not decided in time, so not run";
    case DecidedBy::cancelled:
      return "withdrawn";
  }
  return "withdrawn";
}

}  // namespace

void Carried::fold(const Event& event) {
  if (const auto* requested = std::get_if<ToolRequested>(&event.payload)) {
    if (requested->tool == notes_tool) notes_asked_[requested->call_id] = requested->args;
  } else if (const auto* required = std::get_if<ApprovalRequired>(&event.payload)) {
    asked_[required->call_id] = {required->call_id, call_text(required->tool, required->args), {}, {}};
  } else if (const auto* decided = std::get_if<ApprovalDecided>(&event.payload)) {
    decide(*decided);
  } else if (const auto* result = std::get_if<ToolResult>(&event.payload)) {
    end(*result);
  }
}

void Carried::decide(const ApprovalDecided& decided) {
  const auto asked = asked_.find(decided.call_id);
  if (asked == asked_.end()) return;
  Approval approval = std::move(asked->second);
  asked_.erase(asked);
  if (decided.edited_args) {
    const auto notes = notes_asked_.find(decided.call_id);
    if (notes != notes_asked_.end()) notes->second = *decided.edited_args;
    approval.what += fmt::format(", changed to {}", shortened(decided.edited_args->text));
  }
  approval.said = word_of(decided);
  if (!decided.comment.empty()) approval.said += fmt::format(" (\"{}\")", shortened(decided.comment));
  decided_.push_back(std::move(approval));
  if (decided_.size() <= limits::carried_approvals_max) return;
  decided_.pop_front();
  ++left_out_;
}

void Carried::end(const ToolResult& result) {
  if (const auto notes = notes_asked_.find(result.call_id); notes != notes_asked_.end()) {
    if (result.status == ToolStatus::ok) apply_notes_write(memory_, notes->second.text);
    notes_asked_.erase(notes);
  }
  const auto approval = std::find_if(decided_.rbegin(), decided_.rend(), [&](const Approval& each) {
    return each.call_id == result.call_id;
  });
  if (approval != decided_.rend() && approval->said.starts_with("approved"))
    approval->outcome = name(result.status);
}

std::string Carried::text() const {
  std::string text;
  if (!memory_.notes.empty()) text += fmt::format("\n\nYour notes:\n{}", memory_.notes);
  if (decided_.empty()) return text;
  text += "\n\nWhat people decided about your calls; do not ask for it again, and do not repeat what ran:";
  if (left_out_ > 0) text += fmt::format("\n- {} earlier decisions are left out here", left_out_);
  for (const Approval& each : decided_) {
    text += fmt::format("\n- {}: {}", each.said, each.what);
    if (!each.outcome.empty()) text += fmt::format(" → it ran: {}", each.outcome);
  }
  return text;
}

}  // namespace ratchet
