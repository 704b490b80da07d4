#include "store/rules.hpp"

#include <fmt/format.h>

#include "runtime/limits.hpp"

namespace ratchet {

namespace {

tl::unexpected<Error> conflict(const RunId& run, std::string_view what) {
  return fail(ErrorCode::conflict, fmt::format("append to {}: {}", to_string(run), what));
}

Result<void> check_start(const RunAppend& append) {
  if (append.events == 0) return conflict(append.row.run_id, "there is no such run to activate");
  if (append.first_seq != 1)
    return conflict(append.row.run_id, fmt::format("there is no event before {}", append.first_seq));
  return {};
}

/// What stands beside a team's name in the longest key with one.
constexpr std::size_t team_key_rest_bytes = 1 + sizeof(Hash) + sizeof(Ulid) + sizeof(std::uint32_t);

Result<void> check_key(std::string_view what, std::size_t bytes) {
  if (bytes <= limits::store_key_bytes_max) return {};
  return fail(ErrorCode::invalid_request,
              fmt::format("{} of {} bytes is above {}", what, bytes, limits::store_key_bytes_max));
}

}  // namespace

Result<void> check_continues(const std::optional<Continuation>& stored, const RunAppend& append) {
  const RunRow& row = append.row;
  RATCHET_ENSURE(append.events == 0 || row.last_seq == append.first_seq + events_of(append) - 1,
                 "an append's row ends at another event than its record");
  if (!stored) return check_start(append);
  if (append.events > 0 && append.first_seq == 1) return conflict(row.run_id, "the run exists");
  if (row.lease < stored->lease)
    return fail(ErrorCode::stale_lease,
                fmt::format("append to {}: lease {} was taken over by lease {}",
                            to_string(row.run_id),
                            row.lease,
                            stored->lease));
  if (row.lease > stored->lease + 1)
    return conflict(row.run_id, fmt::format("lease {} does not follow lease {}", row.lease, stored->lease));
  const std::uint64_t last_before = append.events > 0 ? append.first_seq - 1 : row.last_seq;
  if (last_before != stored->last_seq)
    return conflict(row.run_id, fmt::format("expected {} events, found {}", last_before, stored->last_seq));
  return {};
}

Result<void> check_shape(const Commit& commit) {
  for (std::size_t i = 0; i < commit.runs.size(); ++i) {
    const RunRow& row = commit.runs[i].row;
    if (auto fits = check_key("a team's name", row.team.size() + team_key_rest_bytes); !fits) return fits;
    for (std::size_t before = 0; before < i; ++before)
      if (commit.runs[before].row.run_id == row.run_id)
        return conflict(row.run_id, "it is in the commit twice");
    for (const Blob& blob : commit.runs[i].blobs)
      RATCHET_ENSURE(blob.bytes.size() == blob.ref.bytes && blob.ref.n > 0,
                     "a blob is not what its reference says");
    for (const ApprovalRow& approval : commit.runs[i].approvals)
      RATCHET_ENSURE(approval.run_id == row.run_id && approval.team == row.team,
                     "an approval is of another run than its append");
    for (const OutboxEntry& entry : commit.runs[i].outbox)
      RATCHET_ENSURE(entry.run_id == row.run_id, "an entry of the outbox is of another run than its append");
  }
  if (commit.claim)
    if (auto fits =
            check_key("an idempotency key", commit.claim->scope.size() + commit.claim->key.size() + 1);
        !fits)
      return fits;
  for (std::size_t i = 0; i < commit.definitions.size(); ++i) {
    const DefinitionPut& put = commit.definitions[i];
    if (auto fits = check_key("a definition's key", put.table.size() + put.key.size() + 1); !fits)
      return fits;
    for (std::size_t before = 0; before < i; ++before)
      if (commit.definitions[before].table == put.table && commit.definitions[before].key == put.key)
        return fail(ErrorCode::conflict, fmt::format("{} {} is in the commit twice", put.table, put.key));
  }
  return {};
}

std::uint64_t events_of(const RunAppend& append) {
  std::uint64_t events = append.events;
  for (const FurtherRecord& further : append.further)
    events += further.events;
  return events;
}

bool matches(const RunQuery& query, const RunRow& row) {
  return row.team == query.team && (!query.status || row.status == *query.status) &&
         (query.agent_id.empty() || row.agent_id == query.agent_id) &&
         (query.user_id.empty() || row.user_id == query.user_id) &&
         (!query.parent_run_id || row.parent_run_id == query.parent_run_id) &&
         (!query.stop_reason || row.stop_reason == query.stop_reason) &&
         (!query.since || row.created_at >= *query.since) && (!query.until || row.created_at < *query.until);
}

bool matches(const ApprovalQuery& query, const ApprovalRow& row) {
  return row.team == query.team && (!query.status || row.status == *query.status);
}

bool is_team_name(std::string_view team) {
  return team.size() + team_key_rest_bytes <= limits::store_key_bytes_max;
}

bool keeps_token(const RunAppend& append) {
  return append.user_token && append.row.status != RunStatus::finished;
}

bool ends_token(const RunRow& row) {
  return row.status == RunStatus::finished && row.run_id == row.root_run_id;
}

tl::unexpected<Error> root_is_over(const RunRow& row) {
  return conflict(row.run_id, fmt::format("its root {} does not run", to_string(row.root_run_id)));
}

Result<void> check_after(const RunQuery& query, const RunRow* after) {
  if (after && after->team == query.team) return {};
  return fail(ErrorCode::invalid_cursor, fmt::format("{} is not in this list", to_string(*query.after)));
}

tl::unexpected<Error> no_such_run(const RunId& run) {
  return fail(ErrorCode::unknown_run, fmt::format("there is no {}", to_string(run)));
}

tl::unexpected<Error> quarantined(const RunId& run, const Error& why) {
  return fail(why.code, fmt::format("{} cannot be used: {}", to_string(run), why.text));
}

tl::unexpected<Error> no_such_artifact(const ArtifactId& id) {
  return fail(ErrorCode::unknown_artifact, fmt::format("there is no {}", to_string(id)));
}

tl::unexpected<Error> no_such_approval(const RunId& run, const ApprovalId& id) {
  return fail(ErrorCode::unknown_approval, fmt::format("{} has no {}", to_string(run), to_string(id)));
}

tl::unexpected<Error> no_user_token(const RunId& run) {
  return fail(ErrorCode::not_found, fmt::format("{} has no user token", to_string(run)));
}

tl::unexpected<Error> artifact_exists(const ArtifactId& id) {
  return fail(ErrorCode::conflict, fmt::format("{} exists", to_string(id)));
}

tl::unexpected<Error> definition_exists(const DefinitionPut& put) {
  return fail(ErrorCode::conflict, fmt::format("{} {} exists", put.table, put.key));
}

tl::unexpected<Error> key_was_used(const IdempotencyClaim& claim, const RunId& holder) {
  return fail(
      ErrorCode::idempotency_conflict,
      fmt::format("the key {} was used for another request, which made {}", claim.key, to_string(holder)));
}

std::size_t payload_bytes(const Commit& commit) {
  std::size_t bytes = 0;
  for (const RunAppend& append : commit.runs) {
    bytes += append.record.size() + 1024;  // the row and index entries
    for (const Blob& blob : append.blobs)
      bytes += blob.bytes.size();
    bytes += (append.approvals.size() + append.outbox.size()) * 1024 + append.snapshots.size() * 256;
    if (append.user_token) bytes += append.user_token->size();
    for (const FurtherRecord& further : append.further)
      bytes += further.record.size();
  }
  for (const DefinitionPut& put : commit.definitions)
    bytes += put.value.size();
  return bytes;
}

}  // namespace ratchet
