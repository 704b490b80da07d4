// What can be done to a run that is there: messages, cancel, a person's word on a parked call, resume, a
// fresh token.

#include <fmt/format.h>

#include "http/routes/bodies.hpp"
#include "http/routes/reads.hpp"
#include "http/routes/route.hpp"
#include "http/routes/user.hpp"
#include "runtime/json/object.hpp"

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

/// The answer is the node's: it knows whether the run has finished meanwhile, and has the token sealed.
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
    api.node.replace_user_token({.team = call->client.team,
                                 .run_id = row.run_id,
                                 .token = token,
                                 .scopes = std::move(user.scopes),
                                 .expires_at = user.expires_at,
                                 .from = call->client.id},
                                accepted(done));
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
