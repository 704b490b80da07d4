#pragma once
// What `ratchet journal` does to a data directory. All work without a server, and beside a running one too:
// they read in short transactions, so what they see moves on from run to run.

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "runtime/ids.hpp"
#include "runtime/result.hpp"

namespace ratchet {

struct VerifyReport {
  std::uint64_t runs = 0;
  std::uint64_t events = 0;
  std::uint64_t artifacts = 0;
  std::uint64_t problem_count = 0;
  std::vector<std::string> problems;  ///< in words; the first limits::problems_told_max of them

  bool whole() const { return problem_count == 0; }
};

/// Reads everything: every checksum, the order of every run's events, its hash chain against the head in its
/// row, what the indexes say, the hash of every artifact. In a child process, which damaged pages may kill:
/// that too is a problem told. Errors: store_unavailable; not_supported, of another version; not_found, where
/// nothing was ever written.
Result<VerifyReport> verify_store(const std::string& data_dir);

/// Writes all events as JSON lines, run after run in order of id, each with its run and `prev`, the hash of
/// the chain before it. `only`: this run alone. A run that cannot be read gives a line with its `error`, and
/// the others follow. Errors: corrupt, at the end, if there was such a run; unknown_run, of `only`;
/// store_unavailable, where `out` fails too.
Result<void> dump_store(const std::string& data_dir, const std::optional<RunId>& only, std::ostream& out);

struct SalvageReport {
  std::uint64_t runs_copied = 0;
  std::vector<std::string> lost;  ///< in words: each run that is damaged, and what else could not be read
};

/// Copies what is whole of a damaged store to a new directory: every run that verifies, with its approvals
/// and its sealed user token, all idempotency keys and definitions that can be read, and `node.key`. The
/// source is not changed; no server may use it meanwhile. Errors: store_unavailable, where either directory
/// cannot be used; conflict, where the target holds a store.
Result<SalvageReport> salvage_store(const std::string& from_data_dir, const std::string& to_data_dir);

}  // namespace ratchet
