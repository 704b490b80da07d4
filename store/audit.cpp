#include "store/audit.hpp"

#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "runtime/audit/auditor.hpp"
#include "runtime/journal_reads.hpp"
#include "runtime/limits.hpp"
#include "store/lmdb_journal.hpp"
#include "store/run_reads.hpp"
#include "store/tree_reads.hpp"

namespace ratchet {

namespace {

class StoreAudit {
 public:
  explicit StoreAudit(LmdbJournal& journal) : journal_(journal) {}

  Result<AuditReport> operator()() {
    std::optional<RunId> after;
    for (;;) {
      const auto runs = runs_after(journal_.environment(), after);
      if (!runs) return tl::unexpected(runs.error());
      if (runs->empty()) return std::move(report_);
      for (const RunId& run : *runs)
        if (is_top(run)) audit_tree(run);
      after = runs->back();
    }
  }

 private:
  /// Everybody else is looked at with the run that started it.
  bool is_top(const RunId& run) {
    const auto row = journal_.row(run);
    return !row || !row->parent_run_id || !journal_.row(*row->parent_run_id);
  }

  /// All runs of a tree, held against each other. A parent is read before those below it: what a server
  /// beside us writes meanwhile may be ahead of what its parent knows, as it may at any moment.
  void audit_tree(const RunId& top) {
    const auto runs = [&] {
      Txn txn(journal_.environment(), Txn::Kind::read);
      return tree_of(txn, top);
    }();
    if (!runs) unreadable(top, runs.error());
    Auditor auditor;
    for (const RunId& run : runs ? *runs : std::vector{top})
      if (const auto read = audit(auditor, run); !read) unreadable(run, read.error());
    for (const Violation& violation : auditor.findings()) {
      ++report_.violations.at(static_cast<std::size_t>(violation.invariant));
      tell(to_string(violation));
    }
  }

  Result<void> audit(Auditor& auditor, const RunId& run) {
    const auto row = journal_.row(run);
    if (!row) return tl::unexpected(row.error());
    ++report_.runs;
    const auto read = each_record(journal_, run, 1, row->last_seq, [&](const Record& record) {
      auditor.add(run, record);
      report_.events += record.events.size();
      return true;
    });
    if (!read) return read;
    auditor.expect(run, row->last_seq, row->head);
    return {};
  }

  void unreadable(const RunId& run, const Error& error) {
    ++report_.unreadable_runs;
    tell(fmt::format("{} cannot be read: {}", to_string(run), error.text));
  }

  void tell(std::string problem) {
    if (report_.problems.size() < limits::problems_told_max) report_.problems.push_back(std::move(problem));
  }

  LmdbJournal& journal_;
  AuditReport report_;
};

}  // namespace

std::uint64_t AuditReport::violation_count() const {
  return std::accumulate(violations.begin(), violations.end(), std::uint64_t{0});
}

Result<AuditReport> audit_store(const std::string& data_dir) {
  const auto journal = LmdbJournal::open_for_reading(data_dir);
  if (!journal) return tl::unexpected(journal.error());
  return StoreAudit(**journal)();
}

std::string audit_metrics(const AuditReport& report) {
  std::string page;
  const auto gauge = [&](std::string_view name, std::string_view help, std::uint64_t value) {
    page +=
        fmt::format("# HELP ratchet_audit_{0} {1}\n# TYPE ratchet_audit_{0} gauge\nratchet_audit_{0} {2}\n",
                    name,
                    help,
                    value);
  };
  gauge("runs", "Runs that were looked at.", report.runs);
  gauge("events", "Events of those.", report.events);
  gauge("unreadable_runs", "Runs whose record is damaged.", report.unreadable_runs);
  gauge("duplicate_side_effects",
        "Effects that happened twice under one key.",
        report.duplicate_side_effects());
  gauge("unapproved_calls", "Calls planned without an allow or an approval.", report.unapproved_calls());
  gauge(
      "over_budget", "Budgets that were passed without anything having been reserved.", report.over_budget());
  page +=
      "# HELP ratchet_audit_violations Broken rules, by the number in docs/invariants.md.\n"
      "# TYPE ratchet_audit_violations gauge\n";
  for (std::size_t i = 1; i < report.violations.size(); ++i)
    page += fmt::format("ratchet_audit_violations{{invariant=\"{}\"}} {}\n", i, report.violations[i]);
  return page;
}

}  // namespace ratchet
