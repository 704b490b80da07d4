#pragma once
// Reading runs out of the journal for an answer. What belongs to another team is answered exactly like what
// is not there.

#include <functional>
#include <optional>
#include <string>

#include "http/routes/route.hpp"
#include "runtime/ids.hpp"
#include "runtime/journal.hpp"
#include "runtime/redact/run_view.hpp"
#include "runtime/replay/steps.hpp"

namespace ratchet {

/// The run that the path names (its first id). Errors: invalid_id, unknown_run.
Result<RunId> run_id_of(const Call& call);
/// Its row, if it is the team's. Errors: invalid_id, unknown_run.
Result<RunRow> find_run(Api& api, const Call& call);
/// The row of another run of the team. Errors: unknown_run.
Result<RunRow> find_run(Api& api, const Call& call, const RunId& run);

/// How a client sees a run; null: every byte of it. Errors: those of finding the run's version.
Result<std::shared_ptr<const RunView>> view_of(Api& api, const Client& client, const RunRow& row);

/// A JSON text of the run as the client sees it. Errors: those of view_of.
Result<std::string> shown_to(Api& api, const Call& call, const RunRow& row, std::string json);
/// The same of an approval, whose arguments those who may approve see as they are.
Result<std::string> shown_to(Api& api, const Call& call, const ApprovalRow& row, std::string json);

/// Calls `visit` with each event from `from_seq` on, in order, until it returns false. Read in slices, so a
/// long run is never in memory at once.
Result<void> each_event(JournalReader& journal,
                        const RunId& run,
                        std::uint64_t from_seq,
                        const std::function<bool(const Event&)>& visit);

/// How the run ended; nothing while it goes on.
Result<std::optional<RunFinished>> find_end(JournalReader& journal, const RunRow& row);

/// The run as the API shows it, without how it ended. Reads the journal.
Result<std::string> render_row(Api& api, const RunRow& row);
/// The same with `result` and `report`, and with what its approvals, and those of the runs below it, are
/// about: of those below as the client sees their runs.
Result<std::string> render_run(Api& api,
                               const Call& call,
                               const RunRow& row,
                               const std::optional<RunFinished>& end);

/// An approval as the API shows it, with the arguments it is about. Reads the journal.
Result<std::string> render_approval(Api& api, const ApprovalRow& row);

/// A step as lists show it; `model` is that of its run.
std::string render_step(const RunStep& step, const ModelConfig& model);

/// The four counts, as members of an object of their own.
std::string render_usage(const Usage& usage);

}  // namespace ratchet
