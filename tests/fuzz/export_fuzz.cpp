// What an import is given: an export in any state. Whatever passes the checks of an import must be a run that
// can be folded, whoever made the file.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/audit/auditor.hpp"
#include "runtime/context/context.hpp"
#include "runtime/event/fields.hpp"
#include "runtime/replay/export.hpp"
#include "runtime/run/outstanding.hpp"
#include "runtime/run/state.hpp"

namespace ratchet {

namespace {

constexpr std::size_t head_bytes = sizeof("ratchet export 1\n") - 1 + sizeof(Hash);

/// Hashes are no hurdle for whoever makes a file, and one for a fuzzer: they are put right first.
Result<std::vector<Record>> put_right(const Export& damaged) {
  auto records = records_of(damaged);
  if (!records) return records;
  Export file;
  for (const Record& record : *records)
    add_record(file, record);
  return records_of(file);
}

void import(std::string_view body) {
  (void)read_export(body);
  if (body.size() > head_bytes && body.starts_with("ratchet export 1\n")) body.remove_prefix(head_bytes);
  Export file;
  if (fields::read(body, file) != nullptr) return;
  const auto version = version_of(file);
  const auto records = put_right(file);
  if (!records || records->empty()) return;
  Auditor auditor;
  for (const Record& record : *records)
    auditor.add(file.run_id, record);
  if (!auditor.findings().empty()) return;
  RunState state;
  state.run_id = file.run_id;
  for (const Record& record : *records)
    for (const Event& event : record.events)
      apply(state, event);
  (void)row_of(state);
  // What `GET /v1/runs/{run_id}/state` shows.
  const std::uint32_t provider = state.model.provider;
  if (!version || provider >= state.started->model.providers.size()) return;
  const RunStarted& started = *state.started;
  Context context(make_head(**version, started.model, started.settings, provider),
                  started.model.providers[provider],
                  provider);
  for (const Record& record : *records)
    for (const Event& event : record.events)
      context.apply(event);
}

}  // namespace

}  // namespace ratchet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ratchet::import({reinterpret_cast<const char*>(data), size});
  return 0;
}
