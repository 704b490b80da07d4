#pragma once
// The part of the table of keys that stands below `sandbox`.

#include "http/config/read.hpp"
#include "http/config/server_config.hpp"

namespace ratchet::config {

Done read_sandbox(const Value& value, SandboxConfig& sandbox);
void list_sandbox(std::string_view path, std::vector<ConfigKey>& out);

}  // namespace ratchet::config
