#pragma once
// The part of the table of keys that stands below `webhooks`.

#include "http/config/read.hpp"
#include "http/config/server_config.hpp"

namespace ratchet::config {

Done read_webhooks(const Value& value, KeySource& secret);
void list_webhooks(std::string_view path, std::vector<ConfigKey>& out);

}  // namespace ratchet::config
