#pragma once
// The keys that this server sends to others, read once at the start. They are held by whoever sends them and
// go nowhere else: no event, log line, error text or child process sees one.

#include <string>
#include <vector>

#include "http/config/server_config.hpp"
#include "runtime/result.hpp"

namespace ratchet {

/// The key, without white space around it; empty where the source is. Errors: invalid_request, which names
/// the source: not there, empty, or not one line of visible ASCII.
Result<std::string> read_key(const KeySource& source);

/// The file that the source names, not read; empty where it names none. Errors: invalid_request, for a
/// credential where systemd gave none.
Result<std::string> file_of(const KeySource& source);

struct SentKeys {
  std::vector<std::vector<std::string>> models;  ///< of each provider of each model, in their order
  std::string exchange, authorizer;              ///< empty: there is none
};

/// All of them. Variables that were read are then removed from the environment, so that no child process
/// inherits them. Called before there are threads (setenv(3) is not safe beside them). Errors: as read_key,
/// naming whose key it is.
Result<SentKeys> read_keys(const ServerConfig& config);

}  // namespace ratchet
