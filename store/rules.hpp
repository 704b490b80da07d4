#pragma once
// What every journal refuses, whatever it stores things in: appends that do not continue their run, and
// keys that are too long. Shared, so that the double in memory cannot be more lenient than the disk.

#include <optional>
#include <string_view>

#include "runtime/journal.hpp"

namespace ratchet {

/// What of a stored row decides whether an append continues it.
struct Continuation {
  std::uint32_t lease = 0;
  std::uint64_t last_seq = 0;
};

/// `stored` is empty where there is no such run. An append carries the stored lease, or the next one (an
/// activation, which may come with events or alone). Errors: stale_lease, conflict.
Result<void> check_continues(const std::optional<Continuation>& stored, const RunAppend& append);

/// What can be said of a commit without looking at the store: lengths of keys, and nothing twice.
/// Errors: invalid_request, conflict.
Result<void> check_shape(const Commit& commit);

/// Of all records of the append.
std::uint64_t events_of(const RunAppend& append);

/// Whether a list shows this row. Order, `after` and `limit` are the caller's.
bool matches(const RunQuery& query, const RunRow& row);
bool matches(const ApprovalQuery& query, const ApprovalRow& row);

/// Whether a team of this name can have runs: only such names may go into keys.
bool is_team_name(std::string_view team);

/// Whether the append's token is stored: that of a run that it finishes is not.
bool keeps_token(const RunAppend& append);

/// Whether the token goes with the run: a tree has one, and it is its root's.
bool ends_token(const RunRow& row);

/// Errors: invalid_cursor, where the run that `after` names is not one of the list's team.
Result<void> check_after(const RunQuery& query, const RunRow* after);

/// Refusals, in the same words from every journal.
tl::unexpected<Error> no_such_run(const RunId& run);
/// `why` is what a read found: corrupt, and then this run alone is not to be used; or store_unavailable.
tl::unexpected<Error> quarantined(const RunId& run, const Error& why);
tl::unexpected<Error> no_such_artifact(const ArtifactId& id);
tl::unexpected<Error> no_such_approval(const RunId& run, const ApprovalId& id);
tl::unexpected<Error> no_user_token(const RunId& run);
/// A token for a run below a root that does not run.
tl::unexpected<Error> root_is_over(const RunRow& row);
tl::unexpected<Error> artifact_exists(const ArtifactId& id);
tl::unexpected<Error> definition_exists(const DefinitionPut& put);
tl::unexpected<Error> key_was_used(const IdempotencyClaim& claim, const RunId& holder);

/// Bytes that a commit brings, for limits on a batch.
std::size_t payload_bytes(const Commit& commit);

}  // namespace ratchet
