#pragma once
// What is measured about compactions, over the API of a server that is running.

#include <cstdint>
#include <string>

#include "tests/crash/server.hpp"

namespace ratchet::evaluation {

struct Subject {
  const crashing::Server& server;
  std::string model;               ///< the server's name of it
  double compact_at = 0.3;         ///< of the usable window
  std::size_t page_bytes = 4'000;  ///< of the text around the facts
};

struct Recall {
  int asked = 0, right = 0;
  int compactions = 0;
  std::int64_t tokens_before = 0, tokens_after = 0;  ///< of the last compaction before the questions
  std::string trouble;                               ///< why it could not be measured; empty: it was
};

/// Tells thirty facts in an interactive run, goes on talking until a compaction has taken all of them out of
/// the context, and asks for each of them.
Recall measure_recall(const Subject& subject);

struct Passed {
  int tasks = 0, passed = 0;
  int compactions = 0;
  std::int64_t input_tokens = 0;
  std::string trouble;
};

/// Tasks that need something of every one of many pages, read one at a time.
Passed run_tasks(const Subject& subject, bool compacting);

std::string to_string(const Recall& recall);
std::string to_string(const Passed& passed);

}  // namespace ratchet::evaluation
