#include "http/routes/reads.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "http/catalog.hpp"
#include "runtime/journal_reads.hpp"
#include "runtime/json/object.hpp"
#include "runtime/limits.hpp"
#include "runtime/replay/version.hpp"

namespace ratchet {

namespace {

std::string text_of(const RunId& id) {
  return to_string(id);
}

std::string render_pause(const RunRow& row) {
  return json_object([&](JsonObject& pause) {
    append_json_texts(
        pause.key("reasons"), row.pause_reasons, [](PauseReason reason) { return name(reason); });
    pause.time("since", row.paused_since).time("expires_at", row.pause_expires_at);
    append_json_texts(
        pause.key("approval_ids"), row.pending_approvals, [](const ApprovalId& id) { return to_string(id); });
    append_json_texts(pause.key("call_ids"), row.pause_call_ids);
  });
}

std::string render_budgets(const RunRow& row) {
  return json_object([&](JsonObject& budgets) {
    budgets.number("max_steps", row.budgets.max_steps)
        .number("max_tokens", row.budgets.max_tokens)
        .number("max_seconds", row.budgets.max_seconds)
        .money("max_usd", row.budgets.max_usd);
  });
}

/// With what the runs below it used that are over: it comes out of the run's budgets.
std::string render_used(const RunRow& row) {
  return json_object([&](JsonObject& used) {
    used.number("steps", row.step + row.subagents.steps)
        .number("tokens", row.usage.total() + row.subagents.tokens)
        .number("seconds", row.seconds_used)
        .money("usd", row.cost_usd + row.subagents.usd);
  });
}

std::string render_report(const Report& report) {
  return json_object([&](JsonObject& object) {
    object.text("text", report.text).number("steps", report.steps);
    append_json_array(object.key("calls"), report.calls, [](std::string& out, const ReportedCall& call) {
      out += json_object([&](JsonObject& item) {
        item.text("call_id", call.call_id).text("tool", call.tool).text("status", name(call.status));
      });
    });
    append_json_texts(object.key("open"), report.open);
  });
}

/// The open approvals of the runs below, oldest first.
Result<std::vector<ApprovalRow>> pending_below(Api& api, const RunRow& row) {
  std::vector<ApprovalRow> below;
  if (row.status == RunStatus::finished) return below;  // all below it are over, too
  ApprovalQuery query;
  query.team = row.team;
  query.status = ApprovalStatus::pending;
  query.run_id = row.run_id;
  query.limit = limits::list_items_max;
  while (true) {
    auto page = api.journal.approvals(query);
    if (!page) return page;
    for (ApprovalRow& approval : *page)
      if (approval.run_id != row.run_id) below.push_back(std::move(approval));
    if (page->size() < query.limit) break;
    query.after = page->back().approval_id;
  }
  std::reverse(below.begin(), below.end());
  return below;
}

/// What lists show of open approvals: enough to ask for them.
std::string render_pending(const RunRow& row, const std::vector<ApprovalRow>& below) {
  const auto item = [](const ApprovalId& id, const RunId& run) {
    return json_object([&](JsonObject& object) {
      object.text("approval_id", to_string(id)).text("run_id", to_string(run));
    });
  };
  std::vector<std::string> items;
  for (const ApprovalId& id : row.pending_approvals)
    items.push_back(item(id, row.run_id));
  for (const ApprovalRow& approval : below)
    items.push_back(item(approval.approval_id, approval.run_id));
  std::string out;
  append_json_array(out, items, [](std::string& to, const std::string& each) { to += each; });
  return out;
}

void write_row(const RunRow& row, const std::string& pending, JsonObject& run) {
  const bool finished = row.status == RunStatus::finished;
  run.text("run_id", to_string(row.run_id))
      .text("agent_id", row.agent_id)
      .number("agent_version", row.agent_version)
      .text("team", row.team)
      .text("user_id", row.user_id)
      .optional("parent_run_id", row.parent_run_id, text_of)
      .text("root_run_id", to_string(row.root_run_id))
      .number("depth", row.depth)
      .optional("replay_of", row.replay_of, text_of)
      .text("model", row.model)
      .text("status", name(row.status))
      .raw("paused", row.status == RunStatus::paused ? render_pause(row) : "null")
      .number("step", row.step)
      .raw("budgets", render_budgets(row))
      .raw("budgets_used", render_used(row))
      .key("usage") += json_object([&](JsonObject& usage) {
    usage.number("input_tokens", row.usage.input)
        .number("cached_input_tokens", row.usage.cached_input)
        .number("cache_write_tokens", row.usage.cache_write)
        .number("output_tokens", row.usage.output)
        .money("cost_usd", row.cost_usd);
  });
  run.raw("pending_approvals", pending)
      .optional("stop_reason", row.stop_reason, [](StopReason reason) { return name(reason); })
      .number("last_seq", row.last_seq)
      .time("created_at", row.created_at)
      .optional("finished_at",
                finished ? std::optional(row.finished_at) : std::nullopt,
                [](Timestamp at) { return to_string(at); })
      .text("harness_version", row.harness_version)
      .optional("imported_at", row.imported_at, [](Timestamp at) { return to_string(at); })
      .raw("labels", row.labels.text);
}

}  // namespace

Result<RunId> run_id_of(const Call& call) {
  return parse_id<RunKind>(call.ids.at(0));
}

Result<RunRow> find_run(Api& api, const Call& call) {
  const auto run = run_id_of(call);
  if (!run) return tl::unexpected(run.error());
  return find_run(api, call, *run);
}

Result<RunRow> find_run(Api& api, const Call& call, const RunId& run) {
  auto row = api.journal.row(run);
  if (row && row->team != call.client.team) row = tl::unexpected(Error{ErrorCode::unknown_run, {}});
  if (!row && row.error().code == ErrorCode::unknown_run)
    return fail(ErrorCode::unknown_run, fmt::format("there is no run {}", to_string(run)));
  return row;
}

Result<std::shared_ptr<const RunView>> view_of(Api& api, const Client& client, const RunRow& row) {
  if (client.may(Role::audit)) return nullptr;
  const auto agent = version_of(api.catalog, api.journal, row);
  if (!agent) return tl::unexpected(agent.error());
  return std::make_shared<const RunView>(api.redactor, (*agent)->tools);
}

Result<std::string> shown_to(Api& api, const Call& call, const RunRow& row, std::string json) {
  const auto view = view_of(api, call.client, row);
  if (!view) return tl::unexpected(view.error());
  auto shown = *view ? (*view)->json(json) : std::nullopt;
  return shown ? std::move(*shown) : std::move(json);
}

Result<std::string> shown_to(Api& api, const Call& call, const ApprovalRow& row, std::string json) {
  if (call.client.may(Role::approve)) return json;
  const auto run = api.journal.row(row.run_id);
  if (!run) return tl::unexpected(run.error());
  return shown_to(api, call, *run, std::move(json));
}

Result<void> each_event(JournalReader& journal,
                        const RunId& run,
                        std::uint64_t from_seq,
                        const std::function<bool(const Event&)>& visit) {
  const auto row = journal.row(run);
  if (!row) return tl::unexpected(row.error());
  return each_record(journal, run, from_seq, row->last_seq, [&](const Record& record) {
    return std::ranges::all_of(record.events,
                               [&](const Event& event) { return event.seq < from_seq || visit(event); });
  });
}

Result<std::optional<RunFinished>> find_end(JournalReader& journal, const RunRow& row) {
  std::optional<RunFinished> end;
  if (row.status != RunStatus::finished) return end;
  const auto read = each_event(journal, row.run_id, row.last_seq, [&](const Event& event) {
    if (const auto* finished = std::get_if<RunFinished>(&event.payload)) end = *finished;
    return true;
  });
  if (!read) return tl::unexpected(read.error());
  return end;
}

Result<std::string> render_row(Api& api, const RunRow& row) {
  const auto below = pending_below(api, row);
  if (!below) return tl::unexpected(below.error());
  return json_object([&](JsonObject& run) { write_row(row, render_pending(row, *below), run); });
}

Result<std::string> render_run(Api& api,
                               const Call& call,
                               const RunRow& row,
                               const std::optional<RunFinished>& end) {
  std::string pending = "[";
  for (const ApprovalId& id : row.pending_approvals) {
    const auto approval = api.journal.approval(row.run_id, id);
    if (!approval) return tl::unexpected(approval.error());
    const auto item = render_approval(api, *approval);
    if (!item) return item;
    if (pending.size() > 1) pending += ',';
    pending += *item;
  }
  const auto below = pending_below(api, row);
  if (!below) return tl::unexpected(below.error());
  for (const ApprovalRow& approval : *below) {
    auto item = render_approval(api, approval);
    // Its tools are those of another agent, which hide other things.
    const auto run = api.journal.row(approval.run_id);
    if (!run) return tl::unexpected(run.error());
    if (item) item = shown_to(api, call, *run, std::move(*item));
    if (!item) return item;
    if (pending.size() > 1) pending += ',';
    pending += *item;
  }
  pending += ']';
  return json_object([&](JsonObject& run) {
    write_row(row, pending, run);
    if (end && end->result)
      run.raw("result", json_object([&](JsonObject& result) { result.text("text", *end->result); }));
    else
      run.null("result");
    run.raw("report", end && end->report ? render_report(*end->report) : "null");
    if (end && !end->error.empty()) run.text("error", end->error);
  });
}

Result<std::string> render_approval(Api& api, const ApprovalRow& row) {
  std::optional<ApprovalRequired> required;
  std::optional<ApprovalDecided> decided;
  const auto find = [&](std::uint64_t seq) {
    return each_event(api.journal, row.run_id, seq, [&](const Event& event) {
      if (const auto* found = std::get_if<ApprovalRequired>(&event.payload)) required = *found;
      if (const auto* found = std::get_if<ApprovalDecided>(&event.payload)) decided = *found;
      return false;
    });
  };
  if (const auto read = find(row.required_seq); !read) return tl::unexpected(read.error());
  if (row.decided_seq > 0)
    if (const auto read = find(row.decided_seq); !read) return tl::unexpected(read.error());
  if (!required || required->approval_id != row.approval_id)
    return fail(
        ErrorCode::corrupt,
        fmt::format("the event of approval {} is not where its row says", to_string(row.approval_id)));
  const bool late = row.status == ApprovalStatus::pending && row.expires_at <= api.clock.now();
  const auto word = [](auto value) { return name(value); };
  return json_object([&](JsonObject& item) {
    item.text("approval_id", to_string(row.approval_id))
        .text("run_id", to_string(row.run_id))
        .text("root_run_id", to_string(row.root_run_id))
        .text("agent_id", row.agent_id)
        .text("user_id", row.user_id)
        .text("call_id", row.call_id)
        .text("tool", row.tool)
        .raw("args", required->args.text)
        .text("args_hash", to_string(row.args_hash))
        .text("why", required->why)
        .text("status", name(late ? ApprovalStatus::expired : row.status))
        .time("requested_at", row.asked_at)
        .time("expires_at", row.expires_at)
        .optional("decision", row.decision, word)
        .optional("reason", row.reason, word)
        .optional("decided_at", row.decided_at, [](Timestamp at) { return to_string(at); })
        .text("by", row.by)
        .text("comment", decided ? decided->comment : "")
        .raw("edited_args", decided && decided->edited_args ? decided->edited_args->text : "null");
    if (decided)
      item.text("effective_args_hash", to_string(row.effective_args_hash));
    else
      item.null("effective_args_hash");
  });
}

std::string render_usage(const Usage& usage) {
  return json_object([&](JsonObject& object) {
    object.number("input_tokens", usage.input)
        .number("cached_input_tokens", usage.cached_input)
        .number("cache_write_tokens", usage.cache_write)
        .number("output_tokens", usage.output);
  });
}

}  // namespace ratchet
