#include "store/layout.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "runtime/event/fields.hpp"

namespace ratchet::layout {

namespace {

constexpr std::size_t ulid_bytes = sizeof(Ulid);
constexpr char run_format = 1;
constexpr std::uint64_t flag_active = 1;
constexpr std::uint64_t flag_due = 2;
constexpr char blob_in_value = 0;
constexpr char blob_in_file = 1;

std::uint64_t read_u64(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 8; ++i)
    number = number << 8 | static_cast<std::uint8_t>(bytes[i]);
  return number;
}

template <class AnyId>
AnyId read_id(std::string_view bytes) {
  AnyId id;
  std::copy_n(bytes.begin(), std::min(bytes.size(), ulid_bytes), id.ulid.bytes.begin());
  return id;
}

tl::unexpected<Error> refuse(std::string_view what, std::string_view why) {
  return fail(ErrorCode::corrupt, fmt::format("{} is damaged: {}", what, why));
}

}  // namespace

// --- keys
// --------------------------------------------------------------------------------------------------

Key& Key::add(std::string_view bytes) {
  RATCHET_ENSURE(bytes.size() <= bytes_.size() - size_, "a key is above LMDB's limit");
  std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(size_));
  size_ += bytes.size();
  return *this;
}

Key& Key::add_u32(std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8)
    bytes_.at(size_++) = static_cast<char>(number >> shift);
  return *this;
}

Key& Key::add_u64(std::uint64_t number) {
  return add_u32(static_cast<std::uint32_t>(number >> 32)).add_u32(static_cast<std::uint32_t>(number));
}

Key event_key(std::uint64_t append) {
  return Key().add_u64(append);
}

Key run_key(const RunId& run) {
  return Key().add(run.ulid);
}

Key chunk_key(const RunId& run, std::uint64_t first_seq) {
  return Key().add(run.ulid).add_u64(first_seq);
}

Key active_key(Timestamp created_at, const RunId& run) {
  return Key().add(created_at).add(run.ulid);
}

Key due_key(Timestamp due_at, const RunId& run) {
  return Key().add(due_at).add(run.ulid);
}

Key team_prefix(std::string_view team) {
  return Key().add(team).add(std::string_view("\0", 1));
}

Key parent_prefix(const RunId& parent) {
  return Key().add(parent.ulid);
}

Key listed_key(const Key& prefix, Timestamp created_at, const RunId& run) {
  return Key(prefix).add(created_at).add(run.ulid);
}

Key claim_key(std::string_view scope, std::string_view key) {
  return team_prefix(scope).add(key);
}

Key artifact_key(const ArtifactId& id) {
  return Key().add(id.ulid);
}

Key blob_key(const RunId& run, std::uint32_t n) {
  return Key().add(run.ulid).add_u32(n);
}

Key definition_key(std::string_view table, std::string_view key) {
  return team_prefix(table).add(key);
}

Key approval_key(const RunId& run, const ApprovalId& approval) {
  return Key().add(run.ulid).add(approval.ulid);
}

Key approvals_prefix(std::string_view team, ApprovalStatus status) {
  const char number = static_cast<char>(status);
  return team_prefix(team).add(std::string_view(&number, 1));
}

Key listed_approval_key(const ApprovalRow& row) {
  return approvals_prefix(row.team, row.status).add(row.approval_id.ulid).add(row.run_id.ulid);
}

Key outbox_key(const OutboxEntry& entry) {
  return Key().add(entry.due_at).add(entry.run_id.ulid).add_u64(entry.seq).add_u32(entry.n);
}

Key snapshot_key(const RunId& run, const Hash& snapshot) {
  return Key().add(run.ulid).add(snapshot.view());
}

Result<RunAndSnapshot> read_snapshot_key(std::string_view key) {
  RunAndSnapshot read{read_id<RunId>(key), {}};
  if (key.size() != ulid_bytes + read.snapshot.bytes.size())
    return refuse("a snapshot's key", "it has another length");
  std::copy(key.begin() + ulid_bytes, key.end(), read.snapshot.bytes.begin());
  return read;
}

Result<RunAndApproval> read_approval_key(std::string_view key) {
  if (key.size() != 2 * ulid_bytes) return refuse("an approval's key", "it has another length");
  return RunAndApproval{read_id<RunId>(key), read_id<ApprovalId>(key.substr(ulid_bytes))};
}

Result<RunAndApproval> read_listed_approval_key(std::string_view key) {
  if (key.size() < 2 * ulid_bytes) return refuse("an index key", "it is too short");
  key = key.substr(key.size() - 2 * ulid_bytes);
  return RunAndApproval{read_id<RunId>(key.substr(ulid_bytes)), read_id<ApprovalId>(key)};
}

Result<TimeAndRun> read_time_and_run(std::string_view key) {
  if (key.size() < 8 + ulid_bytes) return refuse("an index key", "it is too short");
  key = key.substr(key.size() - 8 - ulid_bytes);
  return TimeAndRun{{static_cast<std::int64_t>(read_u64(key) ^ (1ull << 63))}, read_id<RunId>(key.substr(8))};
}

Result<RunId> read_run_key(std::string_view key) {
  if (key.size() != ulid_bytes) return refuse("a run's key", "it is not an id");
  return read_id<RunId>(key);
}

std::uint64_t read_event_key(std::string_view key) {
  return key.size() == 8 ? read_u64(key) : 0;
}

std::uint32_t read_blob_number(std::string_view key) {
  std::uint32_t number = 0;
  for (const char byte : key.substr(std::min(key.size(), ulid_bytes)))
    number = number << 8 | static_cast<std::uint8_t>(byte);
  return number;
}

// --- events
// --------------------------------------------------------------------------------------------------

std::string events_head(const RunId& run, std::uint64_t first_seq, std::uint32_t events) {
  std::string out(run.ulid.view());
  fields::put_varint(out, first_seq);
  fields::put_varint(out, events);
  return out;
}

Result<StoredEvents> read_events(std::string_view value) {
  fields::Input input{value};
  StoredEvents stored;
  stored.run = read_id<RunId>(input.bytes(ulid_bytes));
  stored.first_seq = input.varint();
  stored.events = static_cast<std::uint32_t>(input.varint());
  stored.packed = input.rest;
  if (input.error) return refuse("an append", input.error);
  return stored;
}

// --- runs
// --------------------------------------------------------------------------------------------------

void AppendList::push(const AppendRef& ref) {
  refs_.at(size_++) = ref;
}

void AppendList::write(std::string& out) const {
  fields::put_varint(out, size_);
  if (empty()) return;
  fields::put_varint(out, refs_[0].first_seq);
  std::uint64_t before = 0;
  for (const AppendRef& ref : refs()) {
    fields::put_varint(out, ref.append - before);
    fields::put_varint(out, ref.events);
    before = ref.append;
  }
}

const char* AppendList::read(std::string_view& bytes) {
  fields::Input input{bytes};
  size_ = 0;
  const std::uint64_t count = input.varint();
  if (count > size_max) return "it lists too many appends";
  AppendRef ref;
  if (count > 0) ref.first_seq = input.varint();
  for (std::uint64_t i = 0; i < count; ++i) {
    ref.append += input.varint();
    ref.events = static_cast<std::uint32_t>(input.varint());
    push(ref);
    ref.first_seq += ref.events;
  }
  bytes = input.rest;
  return input.error;
}

void write_run_head(const StoredRun& run, std::string& out) {
  out += run_format;
  fields::put_varint(out, run.lease);
  fields::put_varint(out, run.last_seq);
  fields::put_varint(out, (run.active ? flag_active : 0) | (run.due_at ? flag_due : 0));
  if (run.due_at) fields::put_varint(out, fields::zigzag(run.due_at->us));
  run.latest.write(out);
}

Result<StoredRun> read_run(std::string_view value) {
  if (value.empty() || value[0] != run_format) return refuse("a run", "its format is not known");
  fields::Input input{value.substr(1)};
  StoredRun run;
  run.lease = static_cast<std::uint32_t>(input.varint());
  run.last_seq = input.varint();
  const std::uint64_t flags = input.varint();
  run.active = flags & flag_active;
  if (flags & flag_due) run.due_at = Timestamp{fields::unzigzag(input.varint())};
  if (input.error) return refuse("a run", input.error);
  if (const char* error = run.latest.read(input.rest)) return refuse("a run", error);
  run.row = input.rest;
  return run;
}

Result<AppendList> read_chunk(std::string_view value) {
  AppendList list;
  if (const char* error = list.read(value)) return refuse("a chunk", error);
  return list;
}

// --- claims, artifacts, blobs
// --------------------------------------------------------------------------------------------------

std::string write_claim(const IdempotencyEntry& entry) {
  std::string out(entry.run_id.ulid.view());
  out += entry.fingerprint.view();
  return out;
}

Result<IdempotencyEntry> read_claim(std::string_view value) {
  IdempotencyEntry entry;
  if (value.size() != ulid_bytes + entry.fingerprint.bytes.size())
    return refuse("an idempotency key", "it has another length");
  entry.run_id = read_id<RunId>(value);
  std::copy(value.begin() + ulid_bytes, value.end(), entry.fingerprint.bytes.begin());
  return entry;
}

std::string write_artifact(const RunId& run, const ArtifactRef& ref) {
  std::string out(run.ulid.view());
  fields::write(ref, out);
  return out;
}

Result<JournalReader::ArtifactInfo> read_artifact(std::string_view value) {
  fields::Input input{value};
  JournalReader::ArtifactInfo info;
  info.run = read_id<RunId>(input.bytes(ulid_bytes));
  const char* error = input.error ? input.error : fields::read(input.rest, info.ref);
  if (error) return refuse("an artifact", error);
  return info;
}

std::string write_blob_file(std::uint64_t bytes, const std::vector<std::uint32_t>& part_checksums) {
  std::string out(1, blob_in_file);
  fields::put_varint(out, bytes);
  for (const std::uint32_t checksum : part_checksums)
    fields::put_varint(out, checksum);
  return out;
}

Result<StoredBlob> read_blob(std::string_view value) {
  StoredBlob blob;
  if (value.empty()) return refuse("a blob", "it has no form");
  if (value[0] == blob_in_value) {
    blob.bytes = value.substr(1);
    return blob;
  }
  if (value[0] != blob_in_file) return refuse("a blob", "its form is not known");
  blob.in_file = true;
  fields::Input input{value.substr(1)};
  blob.file_bytes = input.varint();
  while (!input.rest.empty())
    blob.part_checksums.push_back(static_cast<std::uint32_t>(input.varint()));
  if (!input.error && blob.part_checksums.size() != (blob.file_bytes + blob_part_bytes - 1) / blob_part_bytes)
    input.refuse("it has another number of checksums than parts");
  if (input.error) return refuse("a blob", input.error);
  return blob;
}

}  // namespace ratchet::layout
