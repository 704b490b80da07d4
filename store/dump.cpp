#include <ostream>

#include <fmt/format.h>

#include "runtime/event/fields.hpp"
#include "runtime/event/json.hpp"
#include "runtime/json/writer.hpp"
#include "store/lmdb_journal.hpp"
#include "store/pack.hpp"
#include "store/run_reads.hpp"
#include "store/tools.hpp"

namespace ratchet {

namespace {

constexpr std::size_t slice_bytes = 4u << 20;
constexpr std::size_t record_head_bytes = 49;  // format, head, salt: event/codec.hpp
constexpr std::size_t envelope_numbers = 5;

/// The hash before each event of an encoded record. The chain is followed over the stored bytes, so that
/// fields which this version does not know are in it.
Result<std::vector<Hash>> hashes_before(std::string_view record, const Record& decoded) {
  fields::Input input{record.substr(record_head_bytes)};
  const std::uint64_t count = input.varint();
  std::vector<Hash> hashes{decoded.head_before};
  std::string single(record.substr(0, record_head_bytes));
  for (std::uint64_t i = 1; i < count; ++i) {
    const std::string_view from = input.rest;
    for (std::size_t number = 0; number < envelope_numbers; ++number)
      input.varint();
    input.bytes(input.varint());
    std::copy_n(hashes.back().view().begin(), sizeof(Hash), single.begin() + 1);
    single.resize(record_head_bytes);
    single += '\1';  // one event
    single += from.substr(0, from.size() - input.rest.size());
    const auto head = chain_head(single);
    if (!head) return tl::unexpected(head.error());
    hashes.push_back(*head);
  }
  return hashes;
}

Result<void> dump_record(const RunId& run,
                         std::string_view packed,
                         std::ostream& out,
                         std::uint64_t& last_seq) {
  const auto bytes = unpack_record(packed);
  if (!bytes) return tl::unexpected(bytes.error());
  const auto record = decode_record(*bytes);
  if (!record) return tl::unexpected(record.error());
  const auto hashes = hashes_before(*bytes, *record);
  if (!hashes) return tl::unexpected(hashes.error());
  std::string line;
  for (std::size_t i = 0; i < record->events.size(); ++i) {
    line.clear();
    write_json(record->events[i], line, &run);
    line.pop_back();  // the closing brace
    line += fmt::format(",\"prev\":\"{}\"}}\n", to_string(hashes->at(i)));
    out << line;
    last_seq = record->events[i].seq;
  }
  return {};
}

Result<void> dump_run(const Environment& environment, const RunId& run, std::ostream& out) {
  for (std::uint64_t from_seq = 1;;) {
    Result<std::vector<std::string>> packed;
    {
      Txn txn(environment, Txn::Kind::read);
      packed = find_records(txn, run, from_seq, slice_bytes);
    }
    if (!packed) return tl::unexpected(packed.error());
    if (packed->empty()) return {};
    std::uint64_t last_seq = from_seq;
    for (const std::string& record : *packed)
      if (auto dumped = dump_record(run, record, out, last_seq); !dumped)
        return fail(dumped.error().code, fmt::format("{}: {}", to_string(run), dumped.error().text));
    from_seq = last_seq + 1;
  }
}

}  // namespace

Result<void> dump_store(const std::string& data_dir, const std::optional<RunId>& only, std::ostream& out) {
  const auto journal = LmdbJournal::open_for_reading(data_dir);
  if (!journal) return tl::unexpected(journal.error());
  const Environment& environment = (*journal)->environment();
  if (only) return dump_run(environment, *only, out);

  std::size_t damaged = 0;
  std::optional<RunId> after;
  for (;;) {
    const auto runs = runs_after(environment, after);
    if (!runs) return tl::unexpected(runs.error());
    if (runs->empty()) break;
    for (const RunId& run : *runs) {
      if (auto dumped = dump_run(environment, run, out); !dumped) {
        std::string line = fmt::format("{{\"run_id\":\"{}\",\"error\":", to_string(run));
        append_json_string(line, dumped.error().text);
        out << line << "}\n";
        ++damaged;
      }
      if (!out) return fail(ErrorCode::store_unavailable, "the dump cannot be written");
    }
    after = runs->back();
  }
  if (damaged > 0) return fail(ErrorCode::corrupt, fmt::format("{} runs cannot be read whole", damaged));
  return {};
}

}  // namespace ratchet
