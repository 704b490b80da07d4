// What `LmdbJournal` reads of approvals, and of users' tokens.

#include <list>

#include "store/lmdb_journal.hpp"
#include "store/rules.hpp"
#include "store/run_reads.hpp"
#include "store/tree_reads.hpp"

namespace ratchet {

namespace {

constexpr std::size_t slice_rows = 256;

/// Several ranges of keys, each a prefix and the id of an approval (and more), as one list, newest first.
class NewestFirst {
 public:
  NewestFirst(Txn& txn, Table table) : txn_(txn), table_(table) {}

  /// From before the approval `before` on.
  void add(std::string_view prefix, const std::optional<ApprovalId>& before) {
    Range& range = ranges_.emplace_back(txn_, table_, std::string(prefix));
    const std::string end(before ? std::string(before->ulid.view()) : std::string(after_all_bytes, '\xff'));
    range.more = range.at.seek_before(range.prefix + end) && range.holds_key();
  }

  /// The key of the newest; nothing at the end.
  std::optional<std::string> take() {
    Range* newest = nullptr;
    for (Range& range : ranges_)
      if (range.more && (!newest || range.rest() > newest->rest())) newest = &range;
    if (!newest) return std::nullopt;
    std::string key(newest->at.key());
    newest->more = newest->at.previous() && newest->holds_key();
    return key;
  }

 private:
  static constexpr std::size_t after_all_bytes = 2 * sizeof(Ulid) + 1;

  struct Range {
    Range(Txn& txn, Table table, std::string start) : at(txn, table), prefix(std::move(start)) {}

    bool holds_key() const { return at.key().starts_with(prefix); }

    std::string_view rest() const { return at.key().substr(prefix.size()); }

    Cursor at;
    std::string prefix;
    bool more = false;
  };

  Txn& txn_;
  Table table_;
  std::list<Range> ranges_;
};

/// `tree` is the query's run and all below it; empty: any.
NewestFirst walk(Txn& txn,
                 const ApprovalQuery& query,
                 const std::vector<RunId>& tree,
                 const std::optional<ApprovalId>& before) {
  NewestFirst walk(txn, tree.empty() ? Table::approvals_by_status : Table::approvals);
  for (const RunId& run : tree)
    walk.add(layout::run_key(run), before);
  if (!tree.empty()) return walk;
  for (std::uint64_t i = 0; const auto status = enum_at<ApprovalStatus>(i); ++i)
    if (!query.status || *query.status == *status)
      walk.add(layout::approvals_prefix(query.team, *status), before);
  return walk;
}

}  // namespace

Result<ApprovalRow> LmdbJournal::approval(const RunId& run, const ApprovalId& id) {
  Txn txn(*environment_, Txn::Kind::read);
  return find_approval(txn, run, id);
}

Result<std::vector<ApprovalRow>> LmdbJournal::approvals(const ApprovalQuery& query) {
  std::vector<ApprovalRow> rows;
  if (!is_team_name(query.team)) return rows;
  std::vector<RunId> tree;
  if (query.run_id) {
    Txn txn(*environment_, Txn::Kind::read);
    auto found = tree_of(txn, *query.run_id);
    if (!found) return tl::unexpected(found.error());
    tree = std::move(*found);
  }
  std::optional<ApprovalId> before = query.after;
  for (bool more = true; more && rows.size() < query.limit;) {
    Txn txn(*environment_, Txn::Kind::read);
    NewestFirst newest = walk(txn, query, tree, before);
    for (std::size_t i = 0; more && i < slice_rows && rows.size() < query.limit; ++i) {
      const auto key = newest.take();
      more = key.has_value();
      if (!more) break;
      const auto entry =
          query.run_id ? layout::read_approval_key(*key) : layout::read_listed_approval_key(*key);
      if (!entry) return tl::unexpected(entry.error());
      before = entry->approval;
      auto row = find_approval(txn, entry->run, entry->approval);
      // One damaged row must not hide all others: it is told of, and passed over.
      if (!row)
        passed_over(row.error());
      else if (matches(query, *row))
        rows.push_back(std::move(*row));
    }
    if (txn.failure()) return tl::unexpected(lmdb_error(txn.failure(), "walking the approvals"));
  }
  return rows;
}

Result<std::string> LmdbJournal::user_token(const RunId& run) {
  Txn txn(*environment_, Txn::Kind::read);
  const auto row = find_row(txn, run);
  if (!row && row.error().code != ErrorCode::unknown_run) return tl::unexpected(row.error());
  if (!row || row->status == RunStatus::finished) return no_user_token(run);
  const auto sealed = txn.get(Table::secrets, layout::run_key(row->root_run_id));
  if (!sealed) return tl::unexpected(sealed.error());
  if (!*sealed) return no_user_token(run);
  if (!node_key_) return tl::unexpected(node_key_.error());
  return node_key_->unseal(row->root_run_id, **sealed);
}

}  // namespace ratchet
