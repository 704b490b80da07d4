// Starting runs and looking at them.

#include <fmt/format.h>

#include "http/catalog.hpp"
#include "http/routes/bodies.hpp"
#include "http/routes/parameters.hpp"
#include "http/routes/reads.hpp"
#include "http/routes/route.hpp"
#include "http/routes/user.hpp"
#include "http/server/workers.hpp"
#include "runtime/hash.hpp"
#include "runtime/json/object.hpp"

namespace ratchet {

namespace {

using CallPtr = std::shared_ptr<const Call>;

Response started(const RunId& run, std::string_view status, std::uint32_t agent_version, bool existing) {
  auto response = json_response(
      existing ? 200 : 202, json_object([&](JsonObject& body) {
        body.text("run_id", to_string(run)).text("status", status).number("agent_version", agent_version);
      }));
  response.headers.emplace_back("Location", "/v1/runs/" + to_string(run));
  if (existing) response.headers.emplace_back("Idempotency-Replayed", "true");
  return response;
}

/// The answer to a request whose key had been used for the same request before: its run as it is now.
Result<Response> answer_existing(Api& api, const RunId& run) {
  const auto row = api.journal.row(run);
  if (!row) return tl::unexpected(row.error());
  return started(run, name(row->status), row->agent_version, true);
}

/// What makes two requests with one key the same: everything but the token and the key, and whose token it
/// is.
Hash fingerprint(const StartBody& body, const User& user) {
  return sha256(fmt::format("{}\n{}", user.id, body.canonical));
}

/// The run that holds the key, if this is the same request. Looked up first, so that a repetition is answered
/// whatever has become of the agent or of limits since. The claim itself is made with the run, in one commit.
Result<std::optional<RunId>> find_earlier(Api& api,
                                          const Call& call,
                                          const StartBody& body,
                                          const Hash& print) {
  if (body.idempotency_key.empty()) return std::nullopt;
  const auto entry = api.journal.idempotency(call.client.team, body.idempotency_key);
  if (!entry) return tl::unexpected(entry.error());
  if (!*entry) return std::nullopt;
  if ((*entry)->fingerprint == print) return (*entry)->run_id;
  return fail(
      ErrorCode::idempotency_conflict,
      fmt::format("the key was used before, with another body, for run {}", to_string((*entry)->run_id)),
      "/idempotency_key");
}

template <class T>
Result<void> lower(T& limit, const std::optional<T>& wanted, std::string_view name, auto to_text) {
  if (!wanted) return {};
  if (*wanted > limit)
    return fail(ErrorCode::budget_exceeds_limit,
                fmt::format("{} {} is above the agent's {}", name, to_text(*wanted), to_text(limit)),
                fmt::format("/budgets/{}", name));
  limit = *wanted;
  return {};
}

/// The agent's budgets, lowered to what the request asks for.
Result<Budgets> merge(Budgets budgets, const LoweredBudgets& wanted) {
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  const auto money = [](Usd value) { return to_string(value); };
  auto done = lower(budgets.max_steps, wanted.max_steps, "max_steps", number);
  if (done) done = lower(budgets.max_tokens, wanted.max_tokens, "max_tokens", number);
  if (done) done = lower(budgets.max_seconds, wanted.max_seconds, "max_seconds", number);
  if (done) done = lower(budgets.max_usd, wanted.max_usd, "max_usd", money);
  if (!done) return tl::unexpected(done.error());
  return budgets;
}

/// Everything about the request that can be checked without the node.
Result<StartRun> make_command(Api& api, const Call& call, StartBody body, User user, const Hash& print) {
  const auto agent = api.catalog.find(call.client.team, body.agent_id, body.agent_version);
  if (!agent) return tl::unexpected(agent.error());
  const auto budgets = merge((*agent)->definition.budgets, body.budgets);
  if (!budgets) return tl::unexpected(budgets.error());
  StartRun command;
  command.team = call.client.team;
  command.agent_id = std::move(body.agent_id);
  command.agent_version = (*agent)->version;  // the one that the budgets were checked against
  command.input = std::move(body.input);
  command.user_id = std::move(user.id);
  command.scopes = std::move(user.scopes);
  command.user_token = std::move(body.user_token);
  command.token_expires_at = user.expires_at;
  command.budgets = *budgets;
  command.idempotency_key = std::move(body.idempotency_key);
  command.fingerprint = print;
  command.seed = body.seed;
  command.labels = std::move(body.metadata);
  return command;
}

void start_as(Api& api, const Call& call, StartBody body, User user, Done done) {
  const Hash print = fingerprint(body, user);
  const auto earlier = find_earlier(api, call, body, print);
  if (!earlier) return done(tl::unexpected(earlier.error()));
  if (*earlier) return done(answer_existing(api, **earlier));
  auto command = make_command(api, call, std::move(body), std::move(user), print);
  if (!command) return done(tl::unexpected(command.error()));
  api.node.start_run(std::move(*command), [&api, done](Result<RunAccepted> accepted) {
    if (!accepted) return done(tl::unexpected(accepted.error()));
    if (!accepted->existing)
      return done(started(accepted->run_id, name(RunStatus::queued), accepted->agent_version, false));
    // Reading the row may block, and this is the node's thread.
    const bool posted =
        api.workers.post([&api, done, run = accepted->run_id] { done(answer_existing(api, run)); });
    if (!posted) done(fail(ErrorCode::too_many_requests, "too many requests wait for the journal"));
  });
}

void start(Api& api, CallPtr call, Done done) {
  auto body = read_start(call->request);
  if (!body) return done(tl::unexpected(body.error()));
  const std::string token = body->user_token;
  with_user(api, token, done, [&api, call, done, body = std::move(*body)](User user) {
    start_as(api, *call, body, std::move(user), done);
  });
}

Result<RunQuery> read_query(const Call& call) {
  const auto& query = call.target.query;
  RunQuery runs;
  runs.team = call.client.team;
  const auto status = enum_parameter<RunStatus>(query, "status");
  if (!status) return tl::unexpected(status.error());
  runs.status = *status;
  const auto stop_reason = enum_parameter<StopReason>(query, "stop_reason");
  if (!stop_reason) return tl::unexpected(stop_reason.error());
  runs.stop_reason = *stop_reason;
  const auto since = time_parameter(query, "since"), until = time_parameter(query, "until");
  if (!since) return tl::unexpected(since.error());
  if (!until) return tl::unexpected(until.error());
  runs.since = *since;
  runs.until = *until;
  if (const auto agent = query.get("agent_id")) {
    auto id = name_of(*agent, "an agent");
    if (!id) return tl::unexpected(id.error());
    runs.agent_id = std::move(*id);
  }
  if (const auto parent = query.get("parent_run_id")) {
    const auto id = parse_id<RunKind>(*parent);
    if (!id) return tl::unexpected(id.error());
    runs.parent_run_id = *id;
  }
  runs.user_id = std::string(query.get("user_id").value_or(""));
  return runs;
}

Result<Response> list(Api& api, const Call& call) {
  const auto page = Page::of(call);
  if (!page) return tl::unexpected(page.error());
  auto query = read_query(call);
  if (!query) return tl::unexpected(query.error());
  if (!page->after().empty()) {
    const auto after = parse_id<RunKind>(page->after());
    if (!after) return fail(ErrorCode::invalid_cursor, "the cursor names no run");
    query->after = *after;
  }
  query->limit = page->limit() + 1;  // one more tells whether there is a next page
  auto rows = api.journal.list(*query);
  if (!rows) return tl::unexpected(rows.error());
  const bool more = rows->size() > page->limit();
  if (more) rows->resize(page->limit());
  std::string items = "[";
  for (const RunRow& row : *rows) {
    const auto item = render_row(api, row);
    if (!item) return tl::unexpected(item.error());
    if (items.size() > 1) items += ',';
    items += *item;
  }
  items += ']';
  return page->answer(items, more ? to_string(rows->back().run_id) : "");
}

Result<Response> get(Api& api, const Call& call) {
  const auto row = find_run(api, call);
  if (!row) return tl::unexpected(row.error());
  const auto end = find_end(api.journal, *row);
  if (!end) return tl::unexpected(end.error());
  auto body = render_run(api, call, *row, *end);
  if (body) body = shown_to(api, call, *row, std::move(*body));
  if (!body) return tl::unexpected(body.error());
  return json_response(200, std::move(*body));
}

}  // namespace

std::vector<Route> run_routes() {
  return {
      {"POST", "/v1/runs", Role::launch, {}, start},
      {"GET",
       "/v1/runs",
       Role::read,
       {"status", "agent_id", "user_id", "parent_run_id", "stop_reason", "since", "until", "limit", "cursor"},
       now<list>},
      {"GET", "/v1/runs/{run_id}", Role::read, {}, now<get>},
  };
}

}  // namespace ratchet
