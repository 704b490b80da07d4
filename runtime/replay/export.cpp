#include "runtime/replay/export.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "runtime/event/fields.hpp"

namespace ratchet {

namespace {

constexpr std::string_view first_line = "ratchet export 1\n";
constexpr std::uint32_t replayed_flag = 64;

tl::unexpected<Error> refuse(std::string why) {
  return fail(ErrorCode::import_refused, "the file is not a whole export: " + std::move(why));
}

/// A payload without what only its provider can read. False: it has nothing of it.
bool shorten(Payload& payload) {
  auto* completed = std::get_if<ModelCompleted>(&payload);
  if (!completed) return false;
  return std::erase_if(completed->content,
                       [](const ReplyBlock& block) { return block.type == ReplyBlockType::reasoning; }) > 0;
}

Hash content_of(std::string_view salt, std::string_view payload) {
  return Sha256().add(salt).add(payload).finish();
}

/// h(n) = SHA-256(h(n-1) ‖ envelope ‖ content), as in event/codec.hpp.
Hash link(const Hash& head, const ExportedEvent& event) {
  std::string bytes(head.view());
  fields::put_varint(bytes, event.type);
  fields::put_varint(bytes, event.seq);
  fields::put_varint(bytes, fields::zigzag(event.at.us));
  fields::put_varint(bytes, event.step);
  fields::put_varint(bytes, event.lease_version);
  bytes += event.content.view();
  return sha256(bytes);
}

template <class Visit>
void each_artifact(const Payload& payload, Visit visit) {
  const auto look = [&](const Content& content) {
    for (const Block& block : content)
      if (block.artifact) visit(*block.artifact);
  };
  if (const auto* started = std::get_if<RunStarted>(&payload)) look(started->input);
  if (const auto* message = std::get_if<MessageReceived>(&payload)) look(message->content);
  if (const auto* result = std::get_if<ToolResult>(&payload)) look(result->content);
  if (const auto* resolved = std::get_if<CallResolved>(&payload)) look(resolved->result);
  if (const auto* finished = std::get_if<SubagentFinished>(&payload)) look(finished->result);
}

/// The event as a record holds it: one event of the journal's own form, decoded.
Result<Event> event_of(const ExportedEvent& exported) {
  std::string record(1, '\1');
  record.append(32 + 16, '\0');
  fields::put_varint(record, 1);
  fields::put_varint(record, exported.type);
  fields::put_varint(record, exported.seq);
  fields::put_varint(record, fields::zigzag(exported.at.us));
  fields::put_varint(record, exported.step);
  fields::put_varint(record, exported.lease_version);
  fields::put_varint(record, exported.payload.size());
  record += exported.payload;
  auto decoded = decode_record(record);
  if (!decoded) return refuse(fmt::format("event {}: {}", exported.seq, decoded.error().text));
  return std::move(decoded->events.front());
}

Result<void> check_chain(const Export& file) {
  Hash head;
  std::uint64_t seq = 0;
  for (const ExportedRecord& record : file.records) {
    if (record.salt.size() != 16 || record.events.empty()) return refuse("a record has no salt or no event");
    for (const ExportedEvent& event : record.events) {
      if (event.seq != ++seq) return refuse(fmt::format("event {} stands where {} should", event.seq, seq));
      const bool whole = content_of(record.salt, event.payload) == event.content;
      if (whole == event.shortened) return refuse(fmt::format("event {} was changed", seq));
      head = link(head, event);
    }
  }
  if (seq == 0) return refuse("it has no events");
  if (head != file.head) return refuse("its hash chain does not hold");
  return {};
}

Result<void> check_artifacts(const Export& file, const std::vector<Record>& records) {
  for (const ExportedArtifact& artifact : file.artifacts)
    if (artifact.bytes.size() != artifact.ref.bytes || sha256(artifact.bytes) != artifact.ref.sha256)
      return refuse(to_string(artifact.ref.id) + " is not what its event says");
  std::optional<ArtifactId> missing;
  for (const Record& record : records)
    for (const Event& event : record.events)
      each_artifact(event.payload, [&](const ArtifactRef& ref) {
        const bool there =
            std::any_of(file.artifacts.begin(), file.artifacts.end(), [&](const auto& artifact) {
              return artifact.ref.id == ref.id && artifact.ref.sha256 == ref.sha256;
            });
        if (!there) missing = ref.id;
      });
  if (missing) return refuse(to_string(*missing) + " is missing");
  return {};
}

}  // namespace

void add_record(Export& file, const Record& record) {
  ExportedRecord& to = file.records.emplace_back();
  to.salt.assign(reinterpret_cast<const char*>(record.salt.data()), record.salt.size());
  for (const Event& event : record.events) {
    ExportedEvent& out = to.events.emplace_back();
    out.type = static_cast<std::uint32_t>(event.payload.index() + 1) | (event.replayed ? replayed_flag : 0);
    out.seq = event.seq;
    out.at = event.at;
    out.step = event.step;
    out.lease_version = event.lease_version;
    out.payload = encode_payload(event.payload);
    out.content = content_of(to.salt, out.payload);
    Payload payload = event.payload;
    out.shortened = shorten(payload);
    if (out.shortened) out.payload = encode_payload(payload);
    file.head = link(file.head, out);
  }
}

std::vector<ArtifactRef> artifacts_of(const Export& file, const Record& record) {
  std::vector<ArtifactRef> refs;
  const auto is_new = [&](const ArtifactRef& ref) {
    return std::none_of(file.artifacts.begin(),
                        file.artifacts.end(),
                        [&](const ExportedArtifact& artifact) { return artifact.ref.id == ref.id; }) &&
           std::none_of(
               refs.begin(), refs.end(), [&](const ArtifactRef& other) { return other.id == ref.id; });
  };
  for (const Event& event : record.events)
    each_artifact(event.payload, [&](const ArtifactRef& ref) {
      if (is_new(ref)) refs.push_back(ref);
    });
  return refs;
}

std::string write_export(const Export& file) {
  std::string body;
  fields::write(file, body);
  std::string bytes(first_line);
  bytes += sha256(body).view();
  return bytes += body;
}

Result<Export> read_export(std::string_view bytes) {
  if (!bytes.starts_with(first_line)) return refuse("it begins otherwise");
  bytes.remove_prefix(first_line.size());
  if (bytes.size() < sizeof(Hash)) return refuse("it is cut off");
  const std::string_view hash = bytes.substr(0, sizeof(Hash)), body = bytes.substr(sizeof(Hash));
  if (sha256(body).view() != hash) return refuse("its checksum is another one");
  Export file;
  if (const char* error = fields::read(body, file)) return refuse(error);
  if (auto holds = check_chain(file); !holds) return tl::unexpected(holds.error());
  const auto records = records_of(file);
  if (!records) return tl::unexpected(records.error());
  if (!std::holds_alternative<RunStarted>(records->front().events.front().payload))
    return refuse("its first event is not run.started");
  if (!std::holds_alternative<RunFinished>(records->back().events.back().payload))
    return fail(ErrorCode::not_replayable, "the run had not finished");
  if (auto whole = check_artifacts(file, *records); !whole) return tl::unexpected(whole.error());
  return file;
}

Result<std::vector<Record>> records_of(const Export& file) {
  std::vector<Record> records;
  Hash head;
  for (const ExportedRecord& exported : file.records) {
    Record& record = records.emplace_back();
    record.head_before = head;
    std::memcpy(record.salt.data(), exported.salt.data(), std::min(record.salt.size(), exported.salt.size()));
    for (const ExportedEvent& event : exported.events) {
      auto decoded = event_of(event);
      if (!decoded) return tl::unexpected(decoded.error());
      record.events.push_back(std::move(*decoded));
    }
    head = chain_head(record);
  }
  return records;
}

Result<RecordedRun> recorded_run(const Export& file) {
  RecordedRun run;
  run.run_id = file.run_id;
  auto records = records_of(file);
  if (!records) return tl::unexpected(records.error());
  run.records = std::move(*records);
  for (const ExportedArtifact& artifact : file.artifacts)
    run.artifacts[artifact.ref.id] = artifact.bytes;
  for (const ExportedRecord& record : file.records)
    for (const ExportedEvent& event : record.events)
      run.shortened = run.shortened || event.shortened;
  return run;
}

Result<std::shared_ptr<const AgentVersion>> version_of(const Export& file) {
  auto definition = parse_agent(file.definition.text);
  if (!definition) return refuse("its definition: " + definition.error().text);
  auto version = std::make_shared<AgentVersion>();
  version->definition = std::move(*definition);
  version->version = file.agent_version;
  for (const std::string& source : file.manifests) {
    auto manifest = parse_manifest(source, ManifestOrigin::pinned);
    if (!manifest) return refuse("a manifest: " + manifest.error().text);
    version->tools.push_back(std::move(*manifest));
  }
  return version;
}

}  // namespace ratchet
