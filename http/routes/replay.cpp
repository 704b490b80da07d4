// Running a recorded run again, from one of its steps on.

#include <fmt/format.h>

#include "http/catalog.hpp"
#include "http/routes/bodies.hpp"
#include "http/routes/reads.hpp"
#include "http/routes/route.hpp"
#include "http/routes/user.hpp"
#include "runtime/hash.hpp"
#include "runtime/json/object.hpp"
#include "runtime/replay/patch.hpp"
#include "runtime/replay/version.hpp"

namespace ratchet {

namespace {

using CallPtr = std::shared_ptr<const Call>;

/// What makes two requests with one key the same.
Hash fingerprint(const RunId& run, const ReplayBody& body, const User& user) {
  return sha256(fmt::format("replay {}\n{}\n{}", to_string(run), user.id, body.canonical));
}

Result<RunStarted> read_start_of(Api& api, const RunRow& row) {
  std::optional<RunStarted> started;
  const auto read = each_event(api.journal, row.run_id, 1, [&](const Event& event) {
    if (const auto* found = std::get_if<RunStarted>(&event.payload)) started = *found;
    return false;
  });
  if (!read) return tl::unexpected(read.error());
  if (!started) return fail(ErrorCode::corrupt, "the run's first event is not run.started");
  return std::move(*started);
}

/// The manifest of a tool as it is now.
Result<std::string> manifest_of(Api& api, const std::string& team, const std::string& tool) {
  if (const ToolManifest* builtin = find_builtin(tool)) return builtin->source.text;
  const auto found = api.catalog.tool(team, tool);
  if (!found && found.error().code == ErrorCode::unknown_tool)
    return fail(ErrorCode::invalid_definition, found.error().text, "/patch/tools");
  if (!found) return tl::unexpected(found.error());
  return found->second.source.text;
}

/// The patch as it is to be recorded: on top of what the replayed run had changed itself, and with the
/// manifests of the tools that its version does not have.
Result<Json> complete(Api& api, const RunRow& row, const Json& asked) {
  const auto started = read_start_of(api, row);
  if (!started) return tl::unexpected(started.error());
  auto patch = started->replay ? combine(started->replay->patch, asked) : Result<Json>(asked);
  if (!patch) return patch;
  const auto base = api.catalog.find(row.team, row.agent_id, row.agent_version);
  if (!base) return tl::unexpected(base.error());
  const auto missing = tools_to_pin(**base, *patch);
  if (!missing) return tl::unexpected(missing.error());
  if (missing->empty()) return patch;
  std::vector<std::string> manifests;
  for (const std::string& tool : *missing) {
    auto manifest = manifest_of(api, row.team, tool);
    if (!manifest) return tl::unexpected(manifest.error());
    manifests.push_back(std::move(*manifest));
  }
  return with_manifests(*patch, manifests);
}

Response answer(const RunAccepted& accepted, const RunId& original, std::uint32_t from_step) {
  auto response = json_response(accepted.existing ? 200 : 202, json_object([&](JsonObject& body) {
                                  body.text("run_id", to_string(accepted.run_id))
                                      .text("replay_of", to_string(original))
                                      .number("from_step", from_step);
                                }));
  response.headers.emplace_back("Location", "/v1/runs/" + to_string(accepted.run_id));
  if (accepted.existing) response.headers.emplace_back("Idempotency-Replayed", "true");
  return response;
}

void replay_as(Api& api, const Call& call, const RunRow& row, ReplayBody body, User user, Done done) {
  ReplayRun command;
  command.fingerprint = fingerprint(row.run_id, body, user);
  auto patch = complete(api, row, body.patch);
  if (!patch) return done(tl::unexpected(patch.error()));
  command.team = call.client.team;
  command.run_id = row.run_id;
  command.from_step = body.from_step;
  command.patch = std::move(*patch);
  command.input = std::move(body.input);
  command.tools = body.tools;
  command.nondeterminism = body.nondeterminism;
  command.user_id = std::move(user.id);
  command.scopes = std::move(user.scopes);
  command.user_token = std::move(body.user_token);
  command.token_expires_at = user.expires_at;
  command.idempotency_key = std::move(body.idempotency_key);
  api.node.replay_run(std::move(command),
                      [done, run = row.run_id, from_step = body.from_step](Result<RunAccepted> accepted) {
                        if (!accepted) return done(tl::unexpected(accepted.error()));
                        done(answer(*accepted, run, from_step));
                      });
}

void replay(Api& api, CallPtr call, Done done) {
  const auto row = find_run(api, *call);
  if (!row) return done(tl::unexpected(row.error()));
  auto body = read_replay(call->request);
  if (!body) return done(tl::unexpected(body.error()));
  if (body->user_token.empty()) return replay_as(api, *call, *row, std::move(*body), {}, std::move(done));
  const std::string token = body->user_token;
  with_user(api, token, done, [&api, call, row = *row, done, body = std::move(*body)](User user) {
    replay_as(api, *call, row, body, std::move(user), done);
  });
}

}  // namespace

std::vector<Route> replay_routes() {
  return {{"POST", "/v1/runs/{run_id}/replay", Role::launch, {}, replay}};
}

}  // namespace ratchet
