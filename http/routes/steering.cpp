// What can be done to a run that is there: messages, cancel, a person's word on a parked call, resume, a
// fresh token.

#include <fmt/format.h>

#include "http/routes/bodies.hpp"
#include "http/routes/reads.hpp"
#include "http/routes/route.hpp"
#include "http/routes/user.hpp"
#include "http/server/workers.hpp"
#include "runtime/json/object.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

using CallPtr = std::shared_ptr<const Call>;

/// Answers 202 with the event that says so.
Reply<Accepted> accepted(Done done) {
  return [done = std::move(done)](Result<Accepted> reply) {
    if (!reply) return done(tl::unexpected(reply.error()));
    done(json_response(202, json_object([&](JsonObject& body) { body.number("seq", reply->seq); })));
  };
}

void send_message(Api& api, CallPtr call, Done done) {
  const auto run = run_id_of(*call);
  if (!run) return done(tl::unexpected(run.error()));
  auto body = read_message(call->request);
  if (!body) return done(tl::unexpected(body.error()));
  api.node.send_message({.team = call->client.team,
                         .run_id = *run,
                         .content = std::move(body->content),
                         .from = call->client.id,
                         .idempotency_key = std::move(body->idempotency_key)},
                        accepted(std::move(done)));
}

void cancel(Api& api, CallPtr call, Done done) {
  const auto run = run_id_of(*call);
  if (!run) return done(tl::unexpected(run.error()));
  auto reason = read_cancel(call->request);
  if (!reason) return done(tl::unexpected(reason.error()));
  api.node.cancel_run(
      {.team = call->client.team, .run_id = *run, .by = call->client.id, .reason = std::move(*reason)},
      accepted(std::move(done)));
}

void resolve(Api& api, CallPtr call, Done done) {
  const auto run = run_id_of(*call);
  if (!run) return done(tl::unexpected(run.error()));
  auto body = read_resolve(call->request);
  if (!body) return done(tl::unexpected(body.error()));
  api.node.resolve_call({.team = call->client.team,
                         .run_id = *run,
                         .call_id = call->ids.at(1),
                         .outcome = body->outcome,
                         .result = std::move(body->result),
                         .by = call->client.id},
                        accepted(std::move(done)));
}

void resume(Api& api, CallPtr call, Done done) {
  const auto run = run_id_of(*call);
  if (!run) return done(tl::unexpected(run.error()));
  if (auto nothing = read_nothing(call->request); !nothing) return done(tl::unexpected(nothing.error()));
  api.node.resume_run({.team = call->client.team, .run_id = *run, .by = call->client.id},
                      accepted(std::move(done)));
}

/// The runs of the row's tree that are not over, its own last.
Result<std::vector<RunId>> others_and(Api& api, const RunRow& row) {
  std::vector<RunId> tree{row.root_run_id}, live;
  if (row.status == RunStatus::finished) tree.clear();  // it is refused, for all of them
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const auto at = tree[i] == row.run_id ? Result<RunRow>(row) : api.journal.row(tree[i]);
    if (!at) return tl::unexpected(at.error());
    if (at->status == RunStatus::finished) continue;  // and all below it
    if (at->run_id != row.run_id) live.push_back(at->run_id);
    RunQuery query;
    query.team = row.team;
    query.parent_run_id = at->run_id;
    query.limit = static_cast<std::size_t>(limits::children_max);
    const auto children = api.journal.list(query);
    if (!children) return tl::unexpected(children.error());
    for (const RunRow& child : *children)
      tree.push_back(child.run_id);
  }
  live.push_back(row.run_id);
  return live;
}

/// Gives the token to one run after the other. What has ended meanwhile needs none; the last answers.
void give_token(Api& api, ReplaceUserToken command, std::vector<RunId> rest, Done done) {
  command.run_id = rest.front();
  rest.erase(rest.begin());
  const auto given = command;
  api.node.replace_user_token(given, [&api, command, rest, done](Result<Accepted> reply) {
    const bool over = !reply && reply.error().code == ErrorCode::run_finished;
    if (rest.empty() || (!reply && !over)) return accepted(done)(std::move(reply));
    // The node reads the journal before it takes a command, and this is its own thread.
    const bool posted =
        api.workers.post([&api, command, rest, done] { give_token(api, command, rest, done); });
    if (!posted) done(fail(ErrorCode::too_many_requests, "too many requests wait for an answer"));
  });
}

/// A tree has one token. Every run of it hears of the fresh one: one that waits for it goes on, and none goes
/// by what an old one allowed. The answer is the node's: it knows whether the run has finished meanwhile, and
/// has the token sealed.
void refresh_token(Api& api, CallPtr call, Done done) {
  auto token = read_user_token(call->request);
  if (!token) return done(tl::unexpected(token.error()));
  const auto row = find_run(api, *call);
  if (!row) return done(tl::unexpected(row.error()));
  with_user(api, *token, done, [&api, call, done, row = *row, token = *token](User user) {
    if (user.id != row.user_id)
      return done(fail(ErrorCode::invalid_user_token,
                       "the token is not of the user whom the run acts for",
                       "/user_token"));
    auto runs = others_and(api, row);
    if (!runs) return done(tl::unexpected(runs.error()));
    give_token(api,
               {.team = call->client.team,
                .run_id = row.run_id,
                .token = token,
                .scopes = std::move(user.scopes),
                .expires_at = user.expires_at,
                .from = call->client.id},
               std::move(*runs),
               done);
  });
}

}  // namespace

std::vector<Route> steering_routes() {
  return {
      {"POST", "/v1/runs/{run_id}/messages", Role::launch, {}, send_message},
      {"POST", "/v1/runs/{run_id}/cancel", Role::launch, {}, cancel},
      {"POST", "/v1/runs/{run_id}/calls/{call_id}/resolve", Role::approve, {}, resolve},
      {"POST", "/v1/runs/{run_id}/user_token", Role::launch, {}, refresh_token},
      {"POST", "/v1/runs/{run_id}/resume", Role::approve, {}, resume},
  };
}

}  // namespace ratchet
