#pragma once
// What one server is told before it starts. Values only; the defaults here are the ones that `--help-config`
// prints (a test keeps them equal). No secret is part of it: API keys of clients are hashes, keys that
// the server sends are named by where they are read from.

#include <cstdint>
#include <optional>
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

/// Where a key that this server sends is read from; at most one is set. All empty: there is none.
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

/// How user tokens are verified. dev: they are believed.
RATCHET_ENUM(IdentityMode, dev, jwt)

/// Where a user's token is exchanged for one that a tool's audience takes (RFC 8693). No token_url: nowhere.
struct ExchangeConfig {
  std::string token_url, client_id;
  KeySource client_secret;

  bool operator==(const ExchangeConfig&) const = default;
};

struct IdentityConfig {
  IdentityMode mode = IdentityMode::dev;
  std::string issuer, audience, jwks_url;  ///< of jwt
  ExchangeConfig exchange;
  /// Of the 32 bytes that tokens are sealed under, never from the environment. None: <data_dir>/node.key.
  KeySource node_key;

  bool operator==(const IdentityConfig&) const = default;
};

RATCHET_ENUM(AuthorizerKind, none, authzen, opa)

/// The policy decision point that is asked about each call.
struct AuthorizerConfig {
  AuthorizerKind kind = AuthorizerKind::none;
  std::string url;   ///< without a slash at its end
  std::string path;  ///< of opa
  std::int64_t timeout_ms = 1'000;
  KeySource api_key;

  bool operator==(const AuthorizerConfig&) const = default;
};

/// How sandboxes of a tier are started. oci: by an OCI runtime; tier 2 falls back to bubblewrap where there
/// is none. bwrap: by bubblewrap, tier 2 only. none: the tier is off.
RATCHET_ENUM(SandboxLauncher, oci, bwrap, none)

/// What gVisor intercepts system calls with.
RATCHET_ENUM(GvisorPlatform, systrap, ptrace, kvm)

struct SandboxTierConfig {
  SandboxLauncher launcher = SandboxLauncher::oci;
  std::string runtime;  ///< a name to be found in $PATH, or an absolute path
  std::int64_t pool = 0;

  bool operator==(const SandboxTierConfig&) const = default;
};

struct SandboxConfig {
  SandboxTierConfig tier2{.runtime = "crun", .pool = 4};
  SandboxTierConfig tier3{.runtime = "runsc", .pool = 2};
  GvisorPlatform platform = GvisorPlatform::systrap;  ///< of tier 3
  /// Of a workspace, that calls cannot change; none: those of `sandbox/workspace/protection.hpp`.
  std::optional<std::vector<std::string>> protected_paths;

  bool operator==(const SandboxConfig&) const = default;
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
  IdentityConfig identity;
  AuthorizerConfig authorizer;
  SandboxConfig sandbox;
  std::vector<std::string> http_get_endpoints;  ///< host:port; what the tool `http_get` may reach
  std::vector<std::string> private_hosts;       ///< host:port; names that may lead to private addresses
  KeySource webhook_secret;                     ///< of the secrets that webhooks are signed with
  ServerLimits limits;
  std::int64_t drain_timeout_ms = 30'000;
  bool replay_environment = false;
  std::int64_t subagents_max_depth = 1;
  std::string
      redaction_rules_file;  ///< empty: our own rules; absolute, or relative to the configuration file

  bool operator==(const ServerConfig&) const = default;
};

}  // namespace ratchet
