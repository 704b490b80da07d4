#pragma once
// The part of the table of keys that stands below `models`.

#include "http/config/read.hpp"
#include "http/config/server_config.hpp"

namespace ratchet::config {

Done read_models(const Value& value, std::vector<ModelEntry>& out);
void list_models(std::string_view path, std::vector<ConfigKey>& out);

}  // namespace ratchet::config
