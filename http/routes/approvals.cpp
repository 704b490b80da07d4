// Approvals: who waits for a person, and what the person says.

#include <fmt/format.h>

#include "http/routes/bodies.hpp"
#include "http/routes/parameters.hpp"
#include "http/routes/reads.hpp"
#include "http/routes/route.hpp"
#include "http/server/workers.hpp"
#include "runtime/json/object.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

using CallPtr = std::shared_ptr<const Call>;

Result<Response> list(Api& api, const Call& call) {
  const auto page = Page::of(call);
  if (!page) return tl::unexpected(page.error());
  ApprovalQuery query;
  query.team = call.client.team;
  const auto status = enum_parameter<ApprovalStatus>(call.target.query, "status");
  if (!status) return tl::unexpected(status.error());
  query.status = *status;
  if (const auto run = call.target.query.get("run_id")) {
    const auto id = parse_id<RunKind>(*run);
    if (!id) return tl::unexpected(id.error());
    query.run_id = *id;
  }
  if (!page->after().empty()) {
    const auto after = parse_id<ApprovalKind>(page->after());
    if (!after) return fail(ErrorCode::invalid_cursor, "the cursor names no approval");
    query.after = *after;
  }
  query.limit = page->limit() + 1;  // one more tells whether there is a next page
  auto rows = api.journal.approvals(query);
  if (!rows) return tl::unexpected(rows.error());
  const bool more = rows->size() > page->limit();
  if (more) rows->resize(page->limit());
  const std::string next = more ? to_string(rows->back().approval_id) : "";
  // Between an approval's expiry and the moment in which its run notices, it is not pending any more.
  if (query.status == ApprovalStatus::pending)
    std::erase_if(*rows, [&](const ApprovalRow& row) { return row.expires_at <= api.clock.now(); });
  std::string items = "[";
  for (const ApprovalRow& row : *rows) {
    auto item = render_approval(api, row);
    if (item) item = shown_to(api, call, row, std::move(*item));
    if (!item) return tl::unexpected(item.error());
    if (items.size() > 1) items += ',';
    items += *item;
  }
  return page->answer(items + "]", next);
}

struct Named {
  RunId run;
  ApprovalId approval;
};

/// The approval that the path names, by the run that asks: the path's, or one below it. Errors: invalid_id,
/// unknown_run, unknown_approval.
Result<Named> find_approval(Api& api, const Call& call) {
  const auto approval = parse_id<ApprovalKind>(call.ids.at(1));
  if (!approval) return tl::unexpected(approval.error());
  const auto run = find_run(api, call);
  if (!run) return tl::unexpected(run.error());
  if (api.journal.approval(run->run_id, *approval)) return Named{run->run_id, *approval};
  ApprovalQuery query;
  query.team = run->team;
  query.run_id = run->run_id;
  query.limit = limits::list_items_max;
  while (true) {
    const auto page = api.journal.approvals(query);
    if (!page) return tl::unexpected(page.error());
    for (const ApprovalRow& row : *page)
      if (row.approval_id == *approval) return Named{row.run_id, *approval};
    // Newest first: what is older than the one that is looked for is not looked through.
    if (page->size() < query.limit || page->back().approval_id < *approval) break;
    query.after = page->back().approval_id;
  }
  return fail(ErrorCode::unknown_approval,
              fmt::format("{} has no {}", to_string(run->run_id), to_string(*approval)));
}

Result<Response> get(Api& api, const Call& call) {
  const auto path = find_approval(api, call);
  if (!path) return tl::unexpected(path.error());
  const auto row = api.journal.approval(path->run, path->approval);
  if (!row) return tl::unexpected(row.error());
  auto body = render_approval(api, *row);
  if (body) body = shown_to(api, call, *row, std::move(*body));
  if (!body) return tl::unexpected(body.error());
  return json_response(200, std::move(*body));
}

Result<Response> answer_decided(Api& api, const Named& path) {
  const auto row = api.journal.approval(path.run, path.approval);
  if (!row) return tl::unexpected(row.error());
  const auto approval = render_approval(api, *row);
  if (!approval) return tl::unexpected(approval.error());
  return json_response(
      200, json_object([&](JsonObject& body) {
        body.raw("approval", *approval).text("effective_args_hash", to_string(row->effective_args_hash));
      }));
}

void decide(Api& api, CallPtr call, Done done) {
  auto body = read_decision(call->request);
  if (!body) return done(tl::unexpected(body.error()));
  const auto path = find_approval(api, *call);
  if (!path) return done(tl::unexpected(path.error()));
  DecideApproval command;
  command.team = call->client.team;
  command.run_id = path->run;
  command.approval_id = path->approval;
  command.decision = body->decision;
  command.edited_args = std::move(body->edited_args);
  command.args_hash = body->args_hash;
  command.comment = std::move(body->comment);
  command.by = call->client.id;
  api.node.decide_approval(std::move(command), [&api, done, path = *path](Result<Accepted> accepted) {
    if (!accepted) return done(tl::unexpected(accepted.error()));
    // Reading the row may block, and this is the node's thread.
    const bool posted = api.workers.post([&api, done, path] { done(answer_decided(api, path)); });
    if (!posted) done(fail(ErrorCode::too_many_requests, "decided; too many requests wait to be shown it"));
  });
}

}  // namespace

std::vector<Route> approval_routes() {
  return {
      {"GET",
       "/v1/approvals",
       Roles{Role::read, Role::approve},
       {"status", "run_id", "limit", "cursor"},
       now<list>},
      {"GET", "/v1/runs/{run_id}/approvals/{approval_id}", Roles{Role::read, Role::approve}, {}, now<get>},
      {"POST", "/v1/runs/{run_id}/approvals/{approval_id}", Role::approve, {}, decide},
  };
}

}  // namespace ratchet
