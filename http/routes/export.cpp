// Runs as files: taken out of one server, looked at in another.

#include "runtime/replay/export.hpp"

#include <fmt/format.h>

#include "http/catalog.hpp"
#include "http/routes/parameters.hpp"
#include "http/routes/reads.hpp"
#include "http/routes/route.hpp"
#include "http/version.hpp"
#include "runtime/audit/auditor.hpp"
#include "runtime/event/json.hpp"
#include "runtime/journal_reads.hpp"
#include "runtime/json/object.hpp"
#include "runtime/limits.hpp"
#include "runtime/replay/version.hpp"

namespace ratchet {

namespace {

tl::unexpected<Error> too_large() {
  return fail(ErrorCode::too_large, fmt::format("the run has more than {} bytes", limits::export_bytes_max));
}

/// Adds a record and the artifacts that it is the first to refer to.
Result<std::size_t> add(Api& api, Export& file, const Record& record) {
  std::size_t bytes = 0;
  for (const ArtifactRef& ref : artifacts_of(file, record)) {
    auto blob = api.journal.blob(ref.id, 0, ref.bytes);
    if (!blob) return tl::unexpected(blob.error());
    bytes += blob->size();
    file.artifacts.push_back({ref, std::move(*blob)});
  }
  add_record(file, record);
  for (const ExportedEvent& event : file.records.back().events)
    bytes += event.payload.size();
  return bytes;
}

Result<Response> full_export(Api& api, const RunRow& row, const AgentVersion& version) {
  Export file;
  file.run_id = row.run_id;
  file.harness_version = ratchet::version;
  file.exported_at = api.clock.now();
  file.definition = version.definition.source;
  file.agent_version = version.version;
  for (const ToolManifest& tool : version.tools)
    file.manifests.push_back(tool.source.text);
  std::size_t bytes = 0;
  Result<void> added;
  const auto read = each_record(api.journal, row.run_id, 1, row.last_seq, [&](const Record& record) {
    const auto more = add(api, file, record);
    bytes += more.value_or(0);
    if (!more)
      added = tl::unexpected(more.error());
    else if (bytes > limits::export_bytes_max)
      added = too_large();
    return added.has_value();
  });
  if (!read) return tl::unexpected(read.error());
  if (!added) return tl::unexpected(added.error());
  Response response;
  response.headers = {
      {"Content-Type", "application/octet-stream"},
      {"Content-Disposition", fmt::format("attachment; filename=\"{}.ratchet\"", to_string(row.run_id))}};
  response.body = write_export(file);
  return response;
}

/// For reading, as those see the run who may not see exact bytes.
Result<Response> redacted_export(Api& api, const Call& call, const RunRow& row, const AgentVersion& version) {
  std::string events;
  bool fits = true;
  const auto read = each_event(api.journal, row.run_id, 1, [&](const Event& event) {
    if (event.seq > row.last_seq) return false;
    events += events.empty() ? "" : ",";
    write_json(event, events);
    return fits = events.size() <= limits::export_bytes_max;
  });
  if (!read) return tl::unexpected(read.error());
  if (!fits) return too_large();
  auto shown = shown_to(api, call, row, '[' + events + ']');
  if (!shown) return tl::unexpected(shown.error());
  auto run = render_row(api, row);
  if (run) run = shown_to(api, call, row, std::move(*run));
  if (!run) return tl::unexpected(run.error());
  return json_response(
      200, json_object([&](JsonObject& body) {
        body.text("format", "ratchet export, redacted")
            .text("harness_version", ratchet::version)
            .time("exported_at", api.clock.now())
            .text("head", to_string(row.head))
            .raw("run", *run)
            .raw("definition", version.definition.source.text);
        append_json_array(body.key("tools"), version.tools, [](std::string& out, const ToolManifest& tool) {
          out += tool.source.text;
        });
        body.raw("events", *shown);
      }));
}

Result<Response> export_run(Api& api, const Call& call) {
  const auto row = find_run(api, call);
  if (!row) return tl::unexpected(row.error());
  const auto full = flag_parameter(call.target.query, "full");
  if (!full) return tl::unexpected(full.error());
  const auto version = version_of(api.catalog, api.journal, *row);
  if (!version) return tl::unexpected(version.error());
  if (!*full) return redacted_export(api, call, *row, **version);
  if (!call.client.may(Role::audit))
    return fail(ErrorCode::forbidden, "a full export has exact bytes: it needs the role audit");
  return full_export(api, *row, **version);
}

/// A record that breaks the rules is not taken for a run.
Result<void> check_rules(const Export& file, const std::vector<Record>& records) {
  Auditor auditor;
  for (const Record& record : records)
    auditor.add(file.run_id, record);
  const auto found = auditor.findings();
  if (found.empty()) return {};
  return fail(ErrorCode::import_refused, "the run breaks a rule: " + to_string(found.front()));
}

Result<ImportRun> read_import(Api& api, const Call& call) {
  auto file = read_export(call.request.body);
  if (!file) return fail(ErrorCode::import_refused, file.error().text);
  ImportRun command;
  command.team = call.client.team;
  command.run_id = file->run_id;
  auto records = records_of(*file);
  if (!records) return tl::unexpected(records.error());
  command.records = std::move(*records);
  if (auto sound = check_rules(*file, command.records); !sound) return tl::unexpected(sound.error());
  const auto version = version_of(*file);
  if (!version) return tl::unexpected(version.error());
  command.definition = imported_definition(file->run_id, **version);
  for (ExportedArtifact& artifact : file->artifacts) {
    // Of a run that another imported one replays it is here already.
    const auto here = api.journal.artifact(artifact.ref.id);
    if (here && here->ref.sha256 == artifact.ref.sha256) continue;
    if (here)
      return fail(ErrorCode::import_refused,
                  to_string(artifact.ref.id) + " is here already, and is another one");
    command.blobs.push_back({artifact.ref, std::move(artifact.bytes)});
  }
  return command;
}

void import_run(Api& api, std::shared_ptr<const Call> call, Done done) {
  auto command = read_import(api, *call);
  if (!command) return done(tl::unexpected(command.error()));
  api.node.import_run(std::move(*command), [done](Result<RunAccepted> accepted) {
    if (!accepted && accepted.error().code == ErrorCode::conflict)
      return done(fail(ErrorCode::import_refused, "a run of this id is here already"));
    if (!accepted) return done(tl::unexpected(accepted.error()));
    auto response = json_response(
        201, json_object([&](JsonObject& body) { body.text("run_id", to_string(accepted->run_id)); }));
    response.headers.emplace_back("Location", "/v1/runs/" + to_string(accepted->run_id));
    done(std::move(response));
  });
}

}  // namespace

std::vector<Route> export_routes() {
  return {
      {"GET", "/v1/runs/{run_id}/export", Roles{Role::read, Role::audit}, {"full"}, now<export_run>},
      {"POST", "/v1/runs/import", Role::launch, {}, import_run},
  };
}

}  // namespace ratchet
