#pragma once
// The command line of `ratchet`: words to verbs. What needs more than the API comes from `main`.

#include <functional>
#include <string>

#include "http/config/serve_options.hpp"

namespace ratchet::cli {

/// What a verb of `journal` is about: a data directory, of a server or of none.
struct JournalOptions {
  std::string data_dir = "./ratchet-data";
  std::string run_id;    ///< dump: this run only; empty: all
  std::string target;    ///< salvage: the directory to copy to
  bool json = false;     ///< verify, audit
  bool metrics = false;  ///< audit: a page for Prometheus
};

/// The verbs that `main` brings; each returns the exit status.
struct Verbs {
  std::function<int(const ServeOptions&)> serve;
  std::function<int(const JournalOptions&)> journal_dump, journal_verify, journal_salvage, audit;
};

/// Runs the verb that the words name, and returns the exit status of the process (outcome.hpp).
int run_command_line(int argc, const char* const* argv, const Verbs& verbs);

}  // namespace ratchet::cli
