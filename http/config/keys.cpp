// The one table of configuration keys. A key that is not here does not exist; what stands here is parsed,
// checked and printed by `--help-config`.

#include <algorithm>

#include <fmt/format.h>

#include "http/config/identity_keys.hpp"
#include "http/config/listen.hpp"
#include "http/config/model_keys.hpp"
#include "http/config/parse.hpp"
#include "http/config/read.hpp"
#include "http/config/sandbox_keys.hpp"
#include "http/config/webhook_keys.hpp"
#include "runtime/ids.hpp"
#include "runtime/limits.hpp"
#include "runtime/net/address.hpp"
#include "runtime/tools/url.hpp"
#include "runtime/yaml.hpp"

namespace ratchet {

namespace config {

namespace {

constexpr std::int64_t day_ms = 86'400'000;

// --- API keys ----------------------------------------------------------------------------------------------

constexpr Key<ClientKey> client_key_keys[] = {
    {"id",
     "",
     "A name for logs and for `by` in events.",
     [](ClientKey& k, const Value& v) { return read_name(v, k.id); }},
    {"team",
     "",
     "The team it belongs to: it sees nothing of others.",
     [](ClientKey& k, const Value& v) { return read_name(v, k.team); }},
    {"roles",
     "",
     "Of read, launch, approve, audit, admin.",
     [](ClientKey& k, const Value& v) -> Done {
       auto done = read_words(v, k.roles);
       if (done && k.roles.empty()) return fail_at(v, ErrorCode::invalid_request, "a key needs a role");
       return done;
     }},
    {"sha256",
     "",
     "The SHA-256 of the key, 64 hex digits: `ratchet keys new` prints both.",
     [](ClientKey& k, const Value& v) -> Done {
       auto hash = parse_hash(v.text);
       if (!hash) return fail_at(v, ErrorCode::invalid_request, hash.error().text);
       k.sha256 = *hash;
       return {};
     }},
};

Done read_client_key(const Value& value, std::vector<ClientKey>& out) {
  ClientKey key;
  if (auto done = read_section<ClientKey>(value, client_key_keys, key); !done) return done;
  for (const auto& other : out) {
    if (other.id == key.id)
      return fail_at(value, ErrorCode::invalid_request, fmt::format("there are two keys '{}'", key.id));
    if (other.sha256 == key.sha256)
      return fail_at(
          value, ErrorCode::invalid_request, fmt::format("'{}' and '{}' are the same key", other.id, key.id));
  }
  out.push_back(std::move(key));
  return {};
}

// --- the rest ----------------------------------------------------------------------------------------------

constexpr Key<ServerLimits> limit_keys[] = {
    {"concurrent_runs",
     "20000",
     "Runs that are queued or running; more are answered 429. Waiting runs do not count.",
     [](ServerLimits& l, const Value& v) { return read_integer(v, 1, 1'000'000, l.concurrent_runs); }},
    {"runs_per_team",
     "5000",
     "The same, of one team.",
     [](ServerLimits& l, const Value& v) { return read_integer(v, 1, 1'000'000, l.runs_per_team); }},
    {"request_bytes",
     "8388608",
     "The largest request body; more is answered 413.",
     [](ServerLimits& l, const Value& v) {
       return read_integer(v, 1'024, limits::request_bytes_max, l.request_bytes);
     }},
};

/// A `host:port` whose host is a name: an address needs no leave of the operator's.
Done read_private_host(const Value& value, std::vector<std::string>& out) {
  std::string text;
  if (auto done = read_text(value, text); !done) return done;
  if (!is_endpoint(text) || parse_ip(std::string_view(text).substr(0, text.rfind(':'))))
    return fail_at(value,
                   ErrorCode::invalid_request,
                   fmt::format("'{}' is not a host:port with a name in lower case as host", text));
  out.push_back(std::move(text));
  return {};
}

Done read_endpoint(const Value& value, std::vector<std::string>& out) {
  std::string text;
  if (auto done = read_text(value, text); !done) return done;
  if (!is_endpoint(text))
    return fail_at(
        value, ErrorCode::invalid_request, fmt::format("'{}' is not a host:port in lower case", text));
  out.push_back(std::move(text));
  return {};
}

constexpr Key<ServerConfig> network_keys[] = {
    {"http_get",
     "[]",
     "Each `host:port` that the built-in tool http_get may reach.",
     [](ServerConfig& c, const Value& v) {
       return read_list(v, [&](const Value& item) { return read_endpoint(item, c.http_get_endpoints); });
     }},
    {"private_hosts",
     "[]",
     "Each `host:port` of connectors, hooks and webhooks whose name may lead to a private address.",
     [](ServerConfig& c, const Value& v) {
       return read_list(v, [&](const Value& item) { return read_private_host(item, c.private_hosts); });
     }},
};

struct Nothing {};

constexpr Key<ServerConfig> redaction_keys[] = {
    {"rules_file",
     "null",
     "A file in the form of gitleaks' with the rules that tell secrets; null: those of ratchet.",
     [](ServerConfig& c, const Value& v) { return read_optional_text(v, c.redaction_rules_file); }},
};
constexpr Key<Nothing> otel_keys[] = {
    {"endpoint",
     "null",
     "Where traces are sent by OTLP.",
     [](Nothing&, const Value& v) { return read_off(v, "null", "export of traces"); }},
};
constexpr Key<ServerConfig> subagent_keys[] = {
    {"max_depth",
     "1",
     "How many levels of sub-agents may be below a run; agents that ask for more are refused. 0: none.",
     [](ServerConfig& c, const Value& v) {
       return read_integer(v, 0, limits::subagent_levels_max, c.subagents_max_depth);
     }},
};

template <const auto& keys>
Done read_nothing(ServerConfig&, const Value& value) {
  Nothing nothing;
  return read_section<Nothing>(value, keys, nothing);
}

template <class T, const auto& keys>
void list_section(std::string_view path, std::vector<ConfigKey>& out) {
  list_keys<T>(std::string(path) + ".", keys, out);
}

constexpr Key<ServerConfig> server_keys[] = {
    {"listen",
     "127.0.0.1:8080",
     "Address and port. Port 0: any free one, printed and written to <data_dir>/listen.",
     [](ServerConfig& c, const Value& v) -> Done {
       if (auto done = read_text(v, c.listen); !done) return done;
       auto address = parse_listen(c.listen);
       return address ? Done{} : Done(fail_at(v, ErrorCode::invalid_request, address.error().text));
     }},
    {"data_dir",
     "./ratchet-data",
     "Where everything is kept; made if it does not exist.",
     [](ServerConfig& c, const Value& v) { return read_text(v, c.data_dir); }},
    {"durability",
     "fsync",
     "fsync: survives a power cut. os: survives a crash of the process only.",
     [](ServerConfig& c, const Value& v) { return read_word(v, c.durability); }},
    {"models",
     "{}",
     "The models that agents may name, each under the name that agents use.",
     [](ServerConfig& c, const Value& v) { return read_models(v, c.models); },
     list_models},
    {"keys",
     "[]",
     "API keys of clients, as hashes.",
     [](ServerConfig& c, const Value& v) {
       return read_list(v, [&](const Value& item) { return read_client_key(item, c.keys); });
     },
     [](std::string_view path, std::vector<ConfigKey>& out) {
       list_keys<ClientKey>(std::string(path) + "[].", client_key_keys, out);
     }},
    {"identity",
     "{}",
     "The users on whose behalf runs act.",
     [](ServerConfig& c, const Value& v) { return read_identity(v, c.identity); },
     list_identity},
    {"authorizer",
     "{}",
     "Who else is asked whether a user may.",
     [](ServerConfig& c, const Value& v) { return read_authorizer(v, c.authorizer); },
     list_authorizer},
    {"sandbox",
     "{}",
     "Where tools of the tiers 2 and 3 run.",
     [](ServerConfig& c, const Value& v) { return read_sandbox(v, c.sandbox); },
     list_sandbox},
    {"webhooks",
     "{}",
     "What is posted of approvals, pauses and ends of runs.",
     [](ServerConfig& c, const Value& v) { return read_webhooks(v, c.webhook_secret); },
     list_webhooks},
    {"network",
     "{}",
     "Where tools and hooks of teams may lead.",
     [](ServerConfig& c, const Value& v) { return read_section<ServerConfig>(v, network_keys, c); },
     list_section<ServerConfig, network_keys>},
    {"limits",
     "{}",
     "What is taken at most.",
     [](ServerConfig& c, const Value& v) { return read_section<ServerLimits>(v, limit_keys, c.limits); },
     list_section<ServerLimits, limit_keys>},
    {"drain_timeout_ms",
     "30000",
     "How long steps under way may take after SIGTERM; the rest resumes at the next start.",
     [](ServerConfig& c, const Value& v) { return read_integer(v, 0, day_ms, c.drain_timeout_ms); }},
    {"subagents",
     "{}",
     "Runs that runs start.",
     [](ServerConfig& c, const Value& v) { return read_section<ServerConfig>(v, subagent_keys, c); },
     list_section<ServerConfig, subagent_keys>},
    {"require_eval",
     "false",
     "true: an agent without an evaluation set does not serve.",
     [](ServerConfig&, const Value& v) { return read_off(v, "false", "evaluation sets"); }},
    {"replay_environment",
     "false",
     "true on a server that is there for replays only: replays may execute tools with side effects "
     "`internal`.",
     [](ServerConfig& c, const Value& v) { return read_boolean(v, c.replay_environment); }},
    {"redaction",
     "{}",
     "What is hidden from what leaves the process.",
     [](ServerConfig& c, const Value& v) { return read_section<ServerConfig>(v, redaction_keys, c); },
     list_section<ServerConfig, redaction_keys>},
    {"otel", "{}", "OpenTelemetry.", read_nothing<otel_keys>, list_section<Nothing, otel_keys>},
    {"console",
     "false",
     "The web console at `/`; not in this version.",
     [](ServerConfig&, const Value& v) { return read_off(v, "false", "a console"); }},
};

}  // namespace

}  // namespace config

std::vector<ConfigKey> config_keys() {
  std::vector<ConfigKey> out;
  config::list_keys<ServerConfig>("", config::server_keys, out);
  return out;
}

Result<ServerConfig> parse_config(std::string_view yaml) {
  auto document = parse_yaml(yaml);
  if (!document) return tl::unexpected(document.error());
  const auto with_line = [&](const Error& error) { return document->at_line(error); };
  auto root = config::parse_value(document->json);
  if (!root) return tl::unexpected(with_line(root.error()));
  ServerConfig out;
  auto done = config::read_section<ServerConfig>(*root, config::server_keys, out);
  if (!done) return tl::unexpected(with_line(done.error()));
  return out;
}

}  // namespace ratchet
