#include "runtime/replay/prompt_search.hpp"

#include <algorithm>
#include <limits>

#include "runtime/journal_reads.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

constexpr std::size_t rows_at_once = 1'000;
constexpr std::uint32_t last_step = std::numeric_limits<std::uint32_t>::max();

class Search {
 public:
  Search(JournalReader& journal, const PromptQuery& query) : journal_(journal), query_(query) {}

  Result<PromptPage> operator()() {
    RunQuery runs;
    runs.team = query_.team;
    runs.limit = rows_at_once;
    if (query_.after) {
      runs.after = query_.after->run_id;
      if (query_.after->step < last_step)
        if (auto rest = read(query_.after->run_id, query_.after->step); !rest)
          return tl::unexpected(rest.error());
    }
    std::size_t rows_left = query_.rows_max > 0 ? query_.rows_max : limits::prompt_search_rows_max;
    while (!full()) {
      const auto rows = journal_.list(runs);
      if (!rows) return tl::unexpected(rows.error());
      if (rows->empty()) return std::move(page_);
      for (const RunRow& row : *rows) {
        if (full()) break;
        if (rows_left-- == 0) {
          page_.next = PromptUse{*runs.after, last_step};
          return std::move(page_);
        }
        runs.after = row.run_id;
        if (!row.prompts.may_have(query_.prompt_hash)) continue;
        // A run that is damaged hides no other; whoever asks for it is told.
        if (auto done = read(row.run_id, 0); !done && done.error().code != ErrorCode::corrupt)
          return tl::unexpected(done.error());
      }
    }
    page_.uses.resize(query_.limit);
    page_.next = page_.uses.back();
    return std::move(page_);
  }

 private:
  /// One more than the limit tells whether there is a next page.
  bool full() const { return page_.uses.size() > query_.limit; }

  /// The run's steps after this one.
  Result<void> read(const RunId& run, std::uint32_t after) {
    const auto row = journal_.row(run);
    if (!row) return tl::unexpected(row.error());
    return each_record(journal_, run, 1, row->last_seq, [&](const Record& record) {
      for (const Event& event : record.events)
        look_at(run, after, event);
      return !full();
    });
  }

  void look_at(const RunId& run, std::uint32_t after, const Event& event) {
    const auto* requested = std::get_if<ModelRequested>(&event.payload);
    if (!requested || event.replayed || event.step <= after || full()) return;
    if (!(requested->prompt_hash == query_.prompt_hash)) return;
    const PromptUse use{run, event.step};
    if (page_.uses.empty() || !(page_.uses.back() == use)) page_.uses.push_back(use);
  }

  JournalReader& journal_;
  const PromptQuery& query_;
  PromptPage page_;
};

}  // namespace

Result<PromptPage> find_prompt(JournalReader& journal, const PromptQuery& query) {
  return Search(journal, query)();
}

}  // namespace ratchet
