#pragma once
// The keys of model providers, read once at the start. They are held by whoever sends them and go nowhere
// else: no event, log line, error text or child process sees one.

#include <string>
#include <vector>

#include "http/config/server_config.hpp"
#include "runtime/result.hpp"

namespace ratchet {

/// The key, without white space around it; empty where the source is. Errors: invalid_request, which names
/// the source: not there, empty, or not one line of visible ASCII.
Result<std::string> read_key(const KeySource& source);

/// The keys of all providers of all models, in their order. Variables that were read are then removed from
/// the environment, so that no child process inherits them. Called before there are threads (setenv(3) is not
/// safe beside them). Errors: as read_key, naming the model.
Result<std::vector<std::vector<std::string>>> read_keys(const std::vector<ModelEntry>& models);

}  // namespace ratchet
