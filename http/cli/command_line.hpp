#pragma once
// The command line of `ratchet`: words to verbs. What needs more than the API comes from `main`.

#include <functional>
#include <string>

#include "http/config/serve_options.hpp"

namespace ratchet::cli {

/// A data directory that no server uses, and one run of it, or all (empty).
struct JournalOptions {
  std::string data_dir = "./ratchet-data";
  std::string run_id;
};

/// The verbs that `main` brings; each returns the exit status.
struct Verbs {
  std::function<int(const ServeOptions&)> serve;
  std::function<int(const JournalOptions&)> journal_dump, journal_verify;
};

/// Runs the verb that the words name, and returns the exit status of the process (outcome.hpp).
int run_command_line(int argc, const char* const* argv, const Verbs& verbs);

}  // namespace ratchet::cli
