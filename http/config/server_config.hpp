#pragma once
// What one server is told before it starts. Values only; the defaults here are the ones that `--help-config`
// prints (a test keeps them equal). No secret is part of it: API keys of clients are hashes, keys of model
// providers are named by where they are read from.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/enums.hpp"
#include "runtime/hash.hpp"
#include "runtime/journal.hpp"
#include "runtime/limits.hpp"
#include "runtime/model/config.hpp"

namespace ratchet {

/// What an API key may do. read: look. launch: start, steer, cancel. approve: decide and resolve. audit:
/// exact bytes. admin: agents and tools.
RATCHET_ENUM(Role, read, launch, approve, audit, admin)

/// Where the key of a model provider is read from; at most one is set. All empty: the provider needs none.
struct KeySource {
  std::string file;        ///< absolute, or relative to the configuration file
  std::string env;         ///< an environment variable, removed from the environment once it is read
  std::string credential;  ///< the name of a systemd credential, below $CREDENTIALS_DIRECTORY

  bool operator==(const KeySource&) const = default;

  bool empty() const { return file.empty() && env.empty() && credential.empty(); }
};

struct ModelEntry {
  ModelConfig model;                  ///< with its providers, in order of preference
  std::int64_t max_concurrent = 256;  ///< calls under way at once; more wait in order of arrival
  std::vector<KeySource> api_keys;    ///< one for each of `model.providers`

  bool operator==(const ModelEntry&) const = default;
};

/// A client's API key; `sha256` is of the key as it stands in the request.
struct ClientKey {
  std::string id;
  std::string team;
  std::vector<Role> roles;
  Hash sha256;

  bool operator==(const ClientKey&) const = default;
};

struct ServerLimits {
  std::int64_t concurrent_runs = 20'000;
  std::int64_t runs_per_team = 5'000;
  std::int64_t request_bytes = limits::request_bytes_max;

  bool operator==(const ServerLimits&) const = default;
};

struct ServerConfig {
  std::string listen = "127.0.0.1:8080";
  std::string data_dir = "./ratchet-data";
  Durability durability = Durability::fsync;
  std::vector<ModelEntry> models;
  std::vector<ClientKey> keys;
  ServerLimits limits;
  std::int64_t drain_timeout_ms = 30'000;
  std::int64_t subagents_max_depth = 1;

  bool operator==(const ServerConfig&) const = default;
};

}  // namespace ratchet
