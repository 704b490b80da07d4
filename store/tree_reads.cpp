#include "store/tree_reads.hpp"

#include "store/layout.hpp"

namespace ratchet {

Result<std::vector<RunId>> tree_of(Txn& txn, const RunId& top) {
  std::vector<RunId> runs{top};
  for (std::size_t parent = 0; parent < runs.size(); ++parent) {
    const std::string prefix(std::string_view(layout::parent_prefix(runs[parent])));
    Cursor at(txn, Table::by_parent);
    for (bool more = at.seek(prefix); more && at.key().starts_with(prefix); more = at.next()) {
      const auto child = layout::read_time_and_run(at.key());
      if (!child) return tl::unexpected(child.error());
      runs.push_back(child->run);
    }
  }
  if (txn.failure()) return tl::unexpected(lmdb_error(txn.failure(), "walking the runs below a run"));
  return runs;
}

}  // namespace ratchet
