// The configuration file: what is taken, what is refused, and that help and parser know the same keys.

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/config/parse.hpp"

namespace ratchet {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// The error of a text that must not be taken.
Error refused(const std::string& yaml) {
  auto config = parse_config(yaml);
  if (!config) return config.error();
  ADD_FAILURE() << "was taken:\n" << yaml;
  return {ErrorCode::internal_error, "taken"};
}

ServerConfig taken(const std::string& yaml) {
  auto config = parse_config(yaml);
  EXPECT_TRUE(config) << config.error().text << "\n" << yaml;
  return config ? *config : ServerConfig{};
}

constexpr const char* one_model = R"(
models:
  sonnet:
    providers: [{protocol: openai, model: any}]
)";

TEST(Config, AnEmptyFileIsAllDefaults) {
  EXPECT_EQ(taken(""), ServerConfig{});
  EXPECT_EQ(taken("# nothing but a remark\n"), ServerConfig{});
}

/// Puts one key of the help with its default into a file, together with what has to stand around it.
std::string file_with_default(const ConfigKey& key) {
  const auto value = key.path.substr(key.path.rfind('.') + 1) + ": " + key.standard;
  const std::string provider = "{protocol: openai, model: any}";
  if (key.path.starts_with("models.<name>.providers[]."))
    return "models: {sonnet: {providers: [{protocol: openai, model: any, " + value + "}]}}";
  if (key.path.starts_with("models.<name>.prices_usd_per_million."))
    return "models: {sonnet: {prices_usd_per_million: {" + value + "}, providers: [" + provider + "]}}";
  if (key.path.starts_with("models.<name>."))
    return "models: {sonnet: {" + value + ", providers: [" + provider + "]}}";
  std::string out = value;
  for (auto sections = key.path; sections.find('.') != std::string::npos;) {
    sections.resize(sections.rfind('.'));
    const auto dot = sections.rfind('.');
    out = sections.substr(dot == std::string::npos ? 0 : dot + 1) + ": {" + out + "}";
  }
  return out;
}

TEST(Config, EveryDefaultOfTheHelpIsTheDefaultOfTheServer) {
  const auto plain_model = taken(one_model);
  for (const auto& key : config_keys()) {
    if (key.standard.empty() || key.path == "models.<name>.providers[].model") continue;
    const auto file = file_with_default(key);
    EXPECT_EQ(taken(file), key.path.starts_with("models.") ? plain_model : ServerConfig{}) << file;
  }
}

TEST(Config, TheHelpNamesEveryKeyOfTheContract) {
  const auto help = config_help();
  for (const char* path : {"listen",
                           "data_dir",
                           "durability",
                           "models.<name>.context_window_tokens",
                           "models.<name>.max_output_tokens",
                           "models.<name>.prices_usd_per_million.input",
                           "models.<name>.prices_usd_per_million.cached_input",
                           "models.<name>.prices_usd_per_million.cache_write",
                           "models.<name>.prices_usd_per_million.output",
                           "models.<name>.max_concurrent",
                           "models.<name>.first_byte_timeout_ms",
                           "models.<name>.sampling",
                           "models.<name>.providers[].protocol",
                           "models.<name>.providers[].base_url",
                           "models.<name>.providers[].model",
                           "models.<name>.providers[].api_key_file",
                           "models.<name>.providers[].api_key_env",
                           "models.<name>.providers[].file",
                           "keys[].id",
                           "keys[].team",
                           "keys[].roles",
                           "keys[].sha256",
                           "identity.mode",
                           "authorizer.kind",
                           "sandbox.tier2.launcher",
                           "sandbox.tier2.runtime",
                           "sandbox.tier2.pool",
                           "sandbox.tier3.launcher",
                           "sandbox.tier3.runtime",
                           "sandbox.tier3.platform",
                           "sandbox.tier3.pool",
                           "sandbox.protected_paths",
                           "limits.concurrent_runs",
                           "limits.runs_per_team",
                           "limits.request_bytes",
                           "drain_timeout_ms",
                           "subagents.max_depth",
                           "require_eval",
                           "replay_environment",
                           "redaction.rules_file",
                           "otel.endpoint",
                           "console"})
    EXPECT_THAT(help, HasSubstr("\n" + std::string(path) + " ")) << path;
}

TEST(Config, ReadsAllOfAFullFile) {
  const auto config = taken(R"(
listen: "[::1]:0"
data_dir: /var/lib/ratchet
durability: os
models:
  sonnet:
    context_window_tokens: 100000
    max_output_tokens: 4096
    prices_usd_per_million: {input: "3", cached_input: 0.30, cache_write: "3.75", output: 15}
    max_concurrent: 7
    first_byte_timeout_ms: 1000
    sampling: [temperature, seed, temperature]
    providers:
      - {protocol: anthropic, model: claude-x, api_key_file: key, api_version: "2026-10-21"}
      - {protocol: openai, base_url: "http://127.0.0.1:8000/v1/", model: any, api_key_env: SOME_KEY,
         max_tokens_field: max_tokens, system_role: developer}
      - {protocol: scripted, file: scenario.yaml}
keys:
  - {id: ci, team: payments, roles: [read, launch],
     sha256: "00000000000000000000000000000000000000000000000000000000000000ff"}
identity: {mode: dev}
authorizer: {kind: none}
sandbox: null
network: {private_hosts: ["shop.internal:8080"], http_get: ["docs.example:443"]}
limits: {concurrent_runs: 10, runs_per_team: 5, request_bytes: 65536}
drain_timeout_ms: 0
subagents: {max_depth: 3}
require_eval: false
replay_environment: true
redaction: {rules_file: null}
otel: {endpoint: null}
console: false
)");
  ASSERT_EQ(config.models.size(), 1u);
  const auto& model = config.models[0].model;
  EXPECT_EQ(config.listen, "[::1]:0");
  EXPECT_EQ(config.durability, Durability::os);
  EXPECT_EQ(config.private_hosts, std::vector<std::string>{"shop.internal:8080"});
  EXPECT_EQ(config.http_get_endpoints, std::vector<std::string>{"docs.example:443"});
  EXPECT_EQ(config.models[0].max_concurrent, 7);
  EXPECT_EQ(model.name, "sonnet");
  EXPECT_EQ(model.prices.cached_input.nano, 300'000'000);
  EXPECT_EQ(model.prices.cache_write.nano, 3'750'000'000);
  EXPECT_EQ(model.sampling, (std::vector<std::string>{"temperature", "seed"}));
  ASSERT_EQ(model.providers.size(), 3u);
  EXPECT_EQ(model.providers[0].base_url, "https://api.anthropic.com");
  EXPECT_EQ(model.providers[0].key_header, KeyHeader::x_api_key);
  EXPECT_EQ(model.providers[1].base_url, "http://127.0.0.1:8000/v1");
  EXPECT_EQ(model.providers[1].key_header, KeyHeader::bearer);
  EXPECT_EQ(model.providers[1].system_role, "developer");
  EXPECT_EQ(model.providers[2].scenario_file, "scenario.yaml");
  EXPECT_EQ(config.models[0].api_keys[0].file, "key");
  EXPECT_EQ(config.models[0].api_keys[1].env, "SOME_KEY");
  EXPECT_TRUE(config.models[0].api_keys[2].empty());
  ASSERT_EQ(config.keys.size(), 1u);
  EXPECT_EQ(config.keys[0].roles, (std::vector<Role>{Role::read, Role::launch}));
  EXPECT_EQ(config.keys[0].sha256.bytes[31], 0xff);
  EXPECT_EQ(config.limits.request_bytes, 65'536);
  EXPECT_TRUE(config.replay_environment);
  EXPECT_EQ(config.drain_timeout_ms, 0);
  EXPECT_EQ(config.subagents_max_depth, 3);
}

struct Refusal {
  std::string yaml, text;
  ErrorCode code;
};

TEST(Config, RefusesWhatItDoesNotTakeWithLineAndColumn) {
  const std::string hash(64, 'a');
  const Refusal refusals[] = {
      {"listen: 127.0.0.1:0\nmodles: {}\n",
       "line 2, column 1: there is no key 'modles' here; did you mean 'models'?",
       ErrorCode::unknown_field},
      {"limits:\n  concurent_runs: 1\n",
       "line 2, column 3: there is no key 'concurent_runs'",
       ErrorCode::unknown_field},
      {"models:\n  m:\n    providers:\n      - protocol: openai\n        modle: x\n",
       "line 5, column 9: there is no key 'modle'",
       ErrorCode::unknown_field},
      {"listen: 8080\n", "line 1, column 1: expected a text, found a number", ErrorCode::invalid_request},
      {"listen: example.com:80\n", "is not an address to listen on", ErrorCode::invalid_request},
      {"durability: maybe\n", "'maybe' is none of: fsync, os", ErrorCode::invalid_request},
      {"drain_timeout_ms: -1\n", "-1 is not a whole number within 0 and", ErrorCode::invalid_request},
      {"drain_timeout_ms: 1.5\n", "1.5 is not a whole number", ErrorCode::invalid_request},
      {"drain_timeout_ms: \"1\"\n", "expected a whole number, found a text", ErrorCode::invalid_request},
      {"subagents: {max_depth: 9}\n", "9 is not a whole number within 0 and 8", ErrorCode::invalid_request},
      {"network: {private_hosts: [shop.internal]}\n",
       "'shop.internal' is not a host:port with a name in lower case",
       ErrorCode::invalid_request},
      {"network: {private_hosts: [\"10.0.0.1:80\"]}\n",
       "'10.0.0.1:80' is not a host:port with a name",
       ErrorCode::invalid_request},
      {"network: {http_get: [\"https://docs.example\"]}\n",
       "'https://docs.example' is not a host:port",
       ErrorCode::invalid_request},
      {"limits: {request_bytes: 99999999}\n", "is not a whole number within", ErrorCode::invalid_request},
      {"models: [a]\n", "expected a section of keys, found a list", ErrorCode::invalid_request},
      {"models: {Big: {providers: [{protocol: openai, model: x}]}}\n",
       "'Big' is not a name",
       ErrorCode::invalid_request},
      {"models: {m: {}}\n", "'providers' is missing here", ErrorCode::invalid_request},
      {"models: {m: {providers: []}}\n", "a model needs a provider", ErrorCode::invalid_request},
      {"models: {m: {providers: [{model: x}]}}\n", "'protocol' is missing here", ErrorCode::invalid_request},
      {"models: {m: {providers: [{protocol: openai}]}}\n",
       "protocol openai needs 'model'",
       ErrorCode::invalid_request},
      {"models: {m: {providers: [{protocol: scripted}]}}\n",
       "protocol scripted needs 'file'",
       ErrorCode::invalid_request},
      {"models: {m: {providers: [{protocol: openai, model: x, file: y}]}}\n",
       "scripted only",
       ErrorCode::invalid_request},
      {"models: {m: {providers: [{protocol: openai, model: x, base_url: ftp://y}]}}\n",
       "is not an http or https address",
       ErrorCode::invalid_request},
      {"models: {m: {providers: [{protocol: openai, model: x, api_key_env: A, api_key_file: b}]}}\n",
       "only one of api_key_file",
       ErrorCode::invalid_request},
      {"models: {m: {sampling: [warmth], providers: [{protocol: openai, model: x}]}}\n",
       "'warmth' is none of: temperature",
       ErrorCode::invalid_request},
      {"models: {m: {prices_usd_per_million: {input: free}, providers: [{protocol: openai, model: x}]}}\n",
       "line 1, column",
       ErrorCode::invalid_request},
      {"models: {m: {max_output_tokens: 200000, providers: [{protocol: openai, model: x}]}}\n",
       "must be below context_window_tokens",
       ErrorCode::invalid_request},
      {"keys: [{id: a, team: t, roles: [], sha256: \"" + hash + "\"}]\n",
       "a key needs a role",
       ErrorCode::invalid_request},
      {"keys: [{id: a, team: t, roles: [root], sha256: \"" + hash + "\"}]\n",
       "'root' is none of: read",
       ErrorCode::invalid_request},
      {"keys: [{id: a, team: t, roles: [read], sha256: abc}]\n",
       "line 1, column",
       ErrorCode::invalid_request},
      {"keys:\n  - {id: a, team: t, roles: [read], sha256: \"" + hash +
           "\"}\n  - {id: a, team: t, roles: [read], sha256: \"" + std::string(64, 'b') + "\"}\n",
       "there are two keys 'a'",
       ErrorCode::invalid_request},
      {"keys:\n  - {id: a, team: t, roles: [read], sha256: \"" + hash +
           "\"}\n  - {id: b, team: t, roles: [read], sha256: \"" + hash + "\"}\n",
       "'a' and 'b' are the same key",
       ErrorCode::invalid_request},
      {"listen: [\n", "line ", ErrorCode::invalid_yaml},
      {"listen: a\nlisten: b\n", "line 2, column 1", ErrorCode::invalid_yaml},
  };
  for (const auto& [yaml, text, code] : refusals) {
    const auto error = refused(yaml);
    EXPECT_EQ(name(error.code), name(code)) << yaml;
    EXPECT_THAT(error.text, StartsWith("line ")) << yaml;
    EXPECT_THAT(error.text, HasSubstr(text)) << yaml;
  }
}

TEST(Config, ReadsWhoUsersAreAndWhoElseIsAsked) {
  const auto config = taken(R"(
identity:
  mode: jwt
  issuer: https://login.example
  audience: ratchet
  jwks_url: https://login.example/jwks
  exchange: {token_url: "http://127.0.0.1:9/token", client_id: ratchet, client_secret_env: SECRET}
authorizer: {kind: opa, url: "http://localhost:8181/", path: ratchet/allow, timeout_ms: 50, api_key_file: k}
)");
  EXPECT_EQ(config.identity.mode, IdentityMode::jwt);
  EXPECT_EQ(config.identity.issuer, "https://login.example");
  EXPECT_EQ(config.identity.audience, "ratchet");
  EXPECT_EQ(config.identity.jwks_url, "https://login.example/jwks");
  EXPECT_EQ(config.identity.exchange.client_secret.env, "SECRET");
  EXPECT_EQ(config.authorizer.kind, AuthorizerKind::opa);
  EXPECT_EQ(config.authorizer.url, "http://localhost:8181");
  EXPECT_EQ(config.authorizer.path, "ratchet/allow");
  EXPECT_EQ(config.authorizer.timeout_ms, 50);
  EXPECT_EQ(config.authorizer.api_key.file, "k");
}

TEST(Config, RefusesIdentityAndAuthorizersThatAreHalfSaidOrNotToBeTrusted) {
  const std::string jwt = "mode: jwt, issuer: i, audience: a";
  const std::pair<std::string, const char*> cases[] = {
      {"identity: {mode: none}", "'none' is none of: dev, jwt"},
      {"identity: {node_key_file: a, node_key_credential: b}", "only one of node_key_file and"},
      {"identity: {mode: jwt}", "'issuer' is missing"},
      {"identity: {mode: jwt, issuer: i, jwks_url: \"https://x/k\"}", "'audience' is missing"},
      {"identity: {" + jwt + "}", "'jwks_url' is missing"},
      {"identity: {" + jwt + ", jwks_url: \"http://login.example/k\"}", "has to be https"},
      {"identity: {" + jwt + ", jwks_url: \"http://127.0.0.1.evil.example/k\"}", "has to be https"},
      {"identity: {" + jwt + ", jwks_url: \"file:///etc/passwd\"}", "not a URL"},
      {"identity: {issuer: i}", "need `mode: jwt`"},
      {"identity: {exchange: {token_url: \"https://x/t\"}}", "'client_id' is missing"},
      {"identity: {exchange: {client_id: c}}", "'token_url' is missing"},
      {"identity: {exchange: {token_url: \"https://x/t\", client_id: c}}", "'client_secret_file' is missing"},
      {"identity: {exchange: {token_url: \"https://x/t\", client_id: c, client_secret_file: f, "
       "client_secret_env: E}}",
       "only one of client_secret_file"},
      {"authorizer: {kind: cedar}", "'cedar' is none of: none, authzen, opa"},
      {"authorizer: {kind: authzen}", "'url' is missing"},
      {"authorizer: {url: \"https://pdp\"}", "needs `kind: authzen`"},
      {"authorizer: {kind: authzen, url: \"http://pdp.example\"}", "has to be https"},
      {"authorizer: {kind: authzen, url: \"https://pdp/?a=1\"}", "query"},
      {"authorizer: {kind: authzen, url: \"https://pdp\", path: p}", "only `kind: opa`"},
      {"authorizer: {kind: opa, url: \"https://pdp\"}", "'path' is missing"},
      {"authorizer: {kind: opa, url: \"https://pdp\", path: ../secret}", "is not names"},
      {"authorizer: {kind: opa, url: \"https://pdp\", path: p, timeout_ms: 0}", "60000"},
  };
  for (const auto& [yaml, text] : cases) {
    const auto error = refused(yaml);
    EXPECT_EQ(name(error.code), "invalid_request") << yaml;
    EXPECT_THAT(error.text, StartsWith("line 1, column")) << yaml;
    EXPECT_THAT(error.text, HasSubstr(text)) << yaml;
  }
}

TEST(Config, ReadsHowSandboxesAreStarted) {
  const auto config = taken(
      "sandbox: {tier2: {launcher: bwrap, pool: 0}, tier3: {launcher: oci, runtime: /opt/runsc, platform: "
      "ptrace, pool: "
      "7}}");
  EXPECT_EQ(config.sandbox.tier2.launcher, SandboxLauncher::bwrap);
  EXPECT_EQ(config.sandbox.tier2.pool, 0);
  EXPECT_EQ(config.sandbox.tier3.runtime, "/opt/runsc");
  EXPECT_EQ(config.sandbox.platform, GvisorPlatform::ptrace);
  EXPECT_EQ(taken("sandbox: null").sandbox, SandboxConfig());
  EXPECT_EQ(taken("sandbox: {protected_paths: null}").sandbox, SandboxConfig());
  EXPECT_EQ(taken("sandbox: {protected_paths: []}").sandbox.protected_paths, std::vector<std::string>());
  EXPECT_EQ(taken("sandbox: {protected_paths: [.git]}").sandbox.protected_paths,
            std::vector<std::string>{".git"});
}

TEST(Config, RefusesATierThreeThatSharesTheKernel) {
  for (const char* yaml : {"sandbox: {tier3: {runtime: crun}}",
                           "sandbox: {tier3: {runtime: /usr/sbin/runc}}",
                           "sandbox: {tier3: {launcher: bwrap}}"}) {
    const auto error = refused(yaml);
    EXPECT_EQ(name(error.code), "invalid_request") << yaml;
    EXPECT_THAT(error.text, HasSubstr("kernel of its own")) << yaml;
  }
}

TEST(Config, RefusesWhatThisVersionDoesNotDoInsteadOfIgnoringIt) {
  for (const char* yaml :
       {"require_eval: true", "otel: {endpoint: \"http://127.0.0.1:4318\"}", "console: true"}) {
    const auto error = refused(std::string("listen: 127.0.0.1:0\n") + yaml);
    EXPECT_EQ(name(error.code), "not_supported") << yaml;
    EXPECT_THAT(error.text, StartsWith("line 2, column")) << yaml;
  }
}

TEST(Config, TheFieldOfTheTokenLimitFollowsTheServerUnlessItIsGiven) {
  const std::pair<const char*, const char*> cases[] = {
      {"{protocol: openai, model: x}", "max_completion_tokens"},
      {"{protocol: openai, model: x, base_url: \"http://127.0.0.1:1/v1\"}", "max_tokens"},
      {"{protocol: openai, model: x, base_url: \"http://127.0.0.1:1/v1\", max_tokens_field: limit}",
       "limit"}};
  for (const auto& [provider, field] : cases) {
    const auto config = taken(std::string("models: {m: {providers: [") + provider + "]}}");
    ASSERT_EQ(config.models.size(), 1u);
    EXPECT_EQ(config.models[0].model.providers[0].max_tokens_field, field) << provider;
  }
}

TEST(Config, AModelFromAnAddressIsNamedDefault) {
  const auto entry = model_from_url("http://127.0.0.1:9/v1/", "openai", "tiny");
  ASSERT_TRUE(entry) << entry.error().text;
  EXPECT_EQ(entry->model.name, "default");
  EXPECT_EQ(entry->model.providers.at(0).base_url, "http://127.0.0.1:9/v1");
  EXPECT_EQ(entry->model.providers.at(0).model, "tiny");
  EXPECT_EQ(entry->model.providers.at(0).max_tokens_field, "max_tokens");
  EXPECT_FALSE(model_from_url("127.0.0.1:9", "openai", "tiny"));
  EXPECT_FALSE(model_from_url("http://127.0.0.1:9", "scripted", "tiny"));
}

}  // namespace
}  // namespace ratchet
