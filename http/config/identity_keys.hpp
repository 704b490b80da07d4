#pragma once
// The parts of the table of keys that stand below `identity` and `authorizer`.

#include "http/config/read.hpp"
#include "http/config/server_config.hpp"

namespace ratchet::config {

Done read_identity(const Value& value, IdentityConfig& out);
void list_identity(std::string_view path, std::vector<ConfigKey>& out);

Done read_authorizer(const Value& value, AuthorizerConfig& out);
void list_authorizer(std::string_view path, std::vector<ConfigKey>& out);

}  // namespace ratchet::config
