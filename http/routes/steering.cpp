// What can be done to a run that is there: messages, cancel, a person's word on a parked call, resume, a
// fresh token.

#include <fmt/format.h>

#include "http/json_object.hpp"
#include "http/routes/bodies.hpp"
#include "http/routes/reads.hpp"
#include "http/routes/route.hpp"
#include "http/routes/user.hpp"

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

/// No tool of this version is handed the user's token, so nothing of it is kept: a fresh one is verified, and
/// accepted where it changes nothing. Other scopes would have to reach the run, and that is not built.
Result<Response> refresh_token(Api& api, const Call& call) {
  const auto row = find_run(api, call);
  if (!row) return tl::unexpected(row.error());
  const auto token = read_user_token(call.request);
  if (!token) return tl::unexpected(token.error());
  const auto user = verify_user(api, *token);
  if (!user) return tl::unexpected(user.error());
  if (user->id != row->user_id)
    return fail(
        ErrorCode::invalid_user_token, "the token is not of the user whom the run acts for", "/user_token");
  if (row->status == RunStatus::finished)
    return fail(ErrorCode::run_finished, fmt::format("run {} has finished", to_string(row->run_id)));
  std::vector<std::string> scopes;
  const auto read = each_event(api.journal, row->run_id, 1, [&](const Event& event) {
    if (const auto* started = std::get_if<RunStarted>(&event.payload)) scopes = started->scopes;
    return false;
  });
  if (!read) return tl::unexpected(read.error());
  if (user->scopes != scopes)
    return fail(ErrorCode::not_supported,
                "a token with other scopes cannot take the place of the run's",
                "/user_token");
  return json_response(202,
                       json_object([&](JsonObject& body) { body.text("run_id", to_string(row->run_id)); }));
}

}  // namespace

Result<User> verify_user(const Api& api, std::string_view token) {
  if (api.dev_user_tokens) return parse_dev_token(token);
  return fail(ErrorCode::not_supported,
              "this server is not configured to verify user tokens (identity)",
              "/user_token");
}

std::vector<Route> steering_routes() {
  return {
      {"POST", "/v1/runs/{run_id}/messages", Role::launch, {}, send_message},
      {"POST", "/v1/runs/{run_id}/cancel", Role::launch, {}, cancel},
      {"POST", "/v1/runs/{run_id}/calls/{call_id}/resolve", Role::approve, {}, resolve},
      {"POST", "/v1/runs/{run_id}/user_token", Role::launch, {}, now<refresh_token>},
      {"POST", "/v1/runs/{run_id}/resume", Role::approve, {}, resume},
  };
}

}  // namespace ratchet
