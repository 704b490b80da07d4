// Wires everything: the one file that sees all folders. Made in the order in which the parts depend on each
// other, taken down the other way round.

#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "actors/call_judge.hpp"
#include "actors/hook_judge.hpp"
#include "actors/node.hpp"
#include "http/catalog.hpp"
#include "http/cli/command_line.hpp"
#include "http/client/http_connector.hpp"
#include "http/client/model_client.hpp"
#include "http/client/scripted.hpp"
#include "http/config/listen.hpp"
#include "http/config/secrets.hpp"
#include "http/config/serve_options.hpp"
#include "http/config/webhook_secrets.hpp"
#include "http/identity/users.hpp"
#include "http/log.hpp"
#include "http/metrics.hpp"
#include "http/service.hpp"
#include "http/startup.hpp"
#include "http/version.hpp"
#include "runtime/descriptors.hpp"
#include "runtime/json/object.hpp"
#include "runtime/json/writer.hpp"
#include "runtime/redact/redactor.hpp"
#include "sandbox/machine.hpp"
#include "store/audit.hpp"
#include "store/node_key.hpp"
#include "store/pack.hpp"
#include "store/store.hpp"
#include "store/tools.hpp"

namespace ratchet {

namespace {

constexpr int failed = 1, misused = 2;

/// What is wrong may be quoted, and may be a key that stands where it should not.
int complain(const Error& error, int status) {
  fmt::print(stderr, "ratchet: {}\n", Redactor::standard()->text(error.text).value_or(error.text));
  return status;
}

/// The keys of model providers, each bound to the address that it was configured for.
KeyRing make_key_ring(const std::vector<ModelEntry>& models, std::vector<std::vector<std::string>> keys) {
  KeyRing ring;
  for (std::size_t m = 0; m < models.size(); ++m)
    for (std::size_t p = 0; p < keys.at(m).size(); ++p)
      if (auto& key = keys.at(m)[p]; !key.empty())
        ring.add(models[m].model.name,
                 static_cast<std::uint32_t>(p),
                 {std::move(key), models[m].model.providers[p].base_url});
  return ring;
}

/// Reads every scenario file now, so that a mistake in one shows at the start.
Result<void> load_scenarios(ScriptedClient& scripted, const std::vector<ModelEntry>& models) {
  for (const auto& entry : models)
    for (const auto& provider : entry.model.providers)
      if (provider.protocol == Protocol::scripted)
        if (auto loaded = scripted.load(provider.scenario_file); !loaded) return loaded;
  return {};
}

std::vector<ModelConfig> configs_of(const std::vector<ModelEntry>& models) {
  std::vector<ModelConfig> out;
  for (const auto& entry : models)
    out.push_back(entry.model);
  return out;
}

std::vector<std::string> teams_of(const ServerConfig& config, bool dev) {
  std::set<std::string> teams;
  for (const auto& key : config.keys)
    teams.insert(key.team);
  if (dev) teams.insert("default");
  return {teams.begin(), teams.end()};
}

/// The file of the node key where others provide it; then it has to be there.
Result<std::string> node_key_file(const ServerConfig& config) {
  auto path = file_of(config.identity.node_key);
  if (!path || path->empty()) return path;
  if (const auto key = NodeKey::read(*path); !key)
    return fail(ErrorCode::invalid_request, "identity: " + key.error().text);
  return path;
}

Result<std::unique_ptr<Journal>> open_journal(const ServerConfig& config, std::string node_key_file) {
  StoreOptions options;
  options.node_key_file = std::move(node_key_file);
  options.data_dir = config.data_dir;
  options.durability = config.durability;
  options.on_damage = [](const Error& error) { write_log(LogLevel::error, error.text); };
  return open_store(options);
}

/// What of the node's options the configuration says.
NodeOptions node_options(const ServerConfig& config) {
  NodeOptions options;
  for (const auto& entry : config.models)
    options.served[entry.model.name] = {entry.model, static_cast<std::size_t>(entry.max_concurrent)};
  options.concurrent_runs = static_cast<std::size_t>(config.limits.concurrent_runs);
  options.runs_per_team = static_cast<std::size_t>(config.limits.runs_per_team);
  options.harness_version = version;
  options.replay_environment = config.replay_environment;
  options.http_get_endpoints = config.http_get_endpoints;
  options.log = write_log;
  return options;
}

ServiceOptions service_options(const ServerConfig& config, bool dev) {
  ServiceOptions options;
  options.listen = config.listen;
  options.dev = dev;
  options.keys = config.keys;
  options.request_bytes_max = config.limits.request_bytes;
  return options;
}

std::unique_ptr<Users> make_users(const ServerConfig& config, bool dev, Connector& connector, Clock& clock) {
  const IdentityConfig& identity = config.identity;
  if (identity.mode == IdentityMode::dev) return std::make_unique<DevUsers>();
  JwtOptions options{{identity.issuer, identity.audience}, identity.jwks_url, dev};
  return std::make_unique<JwtUsers>(std::move(options), connector, clock, write_log);
}

std::optional<ExchangeEndpoint> exchange_endpoint(const ServerConfig& config, std::string secret) {
  const ExchangeConfig& exchange = config.identity.exchange;
  if (exchange.token_url.empty()) return std::nullopt;
  return ExchangeEndpoint{exchange.token_url, exchange.client_id, std::move(secret)};
}

std::optional<DecisionPointAddress> decision_point(const ServerConfig& config, std::string key) {
  using Protocol = DecisionPointAddress::Protocol;
  const AuthorizerConfig& authorizer = config.authorizer;
  if (authorizer.kind == AuthorizerKind::none) return std::nullopt;
  return DecisionPointAddress{authorizer.kind == AuthorizerKind::opa ? Protocol::opa : Protocol::authzen,
                              authorizer.url,
                              authorizer.path,
                              authorizer.timeout_ms,
                              std::move(key)};
}

std::optional<sandbox::TierOptions> tier_options(const SandboxTierConfig& tier, GvisorPlatform platform) {
  if (tier.launcher == SandboxLauncher::none) return std::nullopt;
  sandbox::TierOptions options;
  using Kind = sandbox::TierOptions::Kind;
  options.kind = tier.launcher == SandboxLauncher::bwrap ? Kind::bwrap : Kind::oci;
  options.runtime = tier.runtime;
  options.platform = name(platform);
  return options;
}

SandboxMachineOptions sandbox_options(const ServerConfig& config,
                                      sandbox::Namespaces namespaces,
                                      sandbox::Survivor survivor,
                                      Transport& transport) {
  SandboxMachineOptions options;
  options.data_dir = config.data_dir;
  options.namespaces = std::move(namespaces);
  options.survivor = std::make_shared<sandbox::Survivor>(std::move(survivor));
  options.tier2 = tier_options(config.sandbox.tier2, config.sandbox.platform);
  options.tier3 = tier_options(config.sandbox.tier3, config.sandbox.platform);
  options.protected_paths = config.sandbox.protected_paths;
  options.dial.private_hosts = config.private_hosts;
  options.dial.may_dial = [&transport](const sockaddr& address) { return transport.may_dial(address); };
  options.log = write_log;
  return options;
}

/// What calls leave behind whose results were never written is small, and costs nothing but its place.
constexpr std::int64_t workspace_sweep_every_ms = 3'600'000;

/// Removes the files of snapshots that no event names: those whose event was never written.
void sweep_workspaces(JournalReader& journal, Workspaces& workspaces) {
  const auto live = journal.snapshots();
  if (!live) return write_log(LogLevel::error, "the workspaces are not swept: " + live.error().text);
  workspaces.sweep(*live, [](const Result<void>& swept) {
    if (!swept && swept.error().code != ErrorCode::sandbox_unavailable)
      write_log(LogLevel::error, "the workspaces are not swept: " + swept.error().text);
  });
}

/// What may surprise, but is allowed.
void warn_of(const ServerConfig& config, bool dev) {
  const auto warn = [](std::string text) { write_log(LogLevel::warning, text); };
  if (config.replay_environment)
    warn("replay_environment: replays execute tools with side effects of class internal on this server");
  if (config.keys.empty() && !dev) warn("no API keys are configured: every request will be refused");
  if (!config.keys.empty() && dev) warn("--dev asks nobody for a key: the configured ones mean nothing");
  if (config.identity.mode == IdentityMode::dev && !parse_listen(config.listen)->loopback)
    warn("user tokens are believed as they are (identity.mode dev): a client can act for any user");
}

/// Clients and calls that have to wait for descriptors look like a slow server.
void warn_of_few(std::size_t files_max) {
  if (files_max < limits::descriptors_advised)
    write_log(
        LogLevel::warning,
        fmt::format("the system allows {} open files: clients' connections and calls that need more wait for "
                    "each other; {} let all come that are allowed (ulimit -n, LimitNOFILE)",
                    files_max,
                    limits::descriptors_advised));
}

/// Tells where the server is: the file that others look into, and the connectors, which must not dial it.
Result<void> announce(const ServerConfig& config, const ListenAddress& address, Transport& transport) {
  if (auto done = transport.forbid(to_string(address)); !done) return done;
  return write_listen_file(config.data_dir, address);
}

/// The one line on standard output.
void say_ready(const ServerConfig& config, const ListenAddress& address) {
  fmt::print("ratchet: ready on http://{} (data in {}, durability {})\n",
             to_string(address),
             config.data_dir,
             name(config.durability));
  std::fflush(stdout);
}

int serve(const ServeOptions& options) {
  // First of all: both need a process of one thread, and nothing that is open.
  auto namespaces = sandbox::enter_namespaces();
  auto survivor = sandbox::Survivor::start();
  configure_log(options.log_json);
  const auto config = resolve(options);
  if (!config) return complain(config.error(), misused);
  const auto redactor = load_redactor(config->redaction_rules_file);
  if (!redactor) return complain(redactor.error(), misused);
  configure_log(options.log_json, *redactor);
  // From here on there are threads: signals are blocked and the environment is read before them.
  StopSignals signals;
  auto keys = read_keys(*config);
  if (!keys) return complain(keys.error(), misused);
  auto webhook_secrets = read_webhook_secrets(config->webhook_secret);
  if (!webhook_secrets) return complain(webhook_secrets.error(), misused);
  const auto node_key = node_key_file(*config);
  if (!node_key) return complain(node_key.error(), misused);
  ScriptedClient scripted;
  if (auto loaded = load_scenarios(scripted, config->models); !loaded)
    return complain(loaded.error(), misused);
  warn_of(*config, options.dev);
  const auto files_max = raise_descriptor_limit();
  warn_of_few(files_max);
  Descriptors descriptors(files_max);

  auto journal = open_journal(*config, *node_key);
  if (!journal) return complain(journal.error(), failed);
  if (webhook_secrets->empty()) {
    auto own = own_webhook_secret(config->data_dir);
    if (!own) return complain(own.error(), failed);
    webhook_secrets->push_back(std::move(*own));
  }
  remove_listen_file(config->data_dir);
  SystemClock clock;
  Metrics metrics;
  StoredCatalog catalog(**journal, configs_of(config->models), config->subagents_max_depth);
  Transport transport({.descriptors = &descriptors});
  CurlModelClient models(transport, scripted, clock, make_key_ring(config->models, std::move(keys->models)));
  CurlConnector connector(transport, config->private_hosts);
  if (!survivor) write_log(LogLevel::warning, survivor.error().text);
  SandboxMachine machine(sandbox_options(
      *config, std::move(namespaces), survivor ? std::move(*survivor) : sandbox::Survivor(), transport));
  const auto users = make_users(*config, options.dev, connector, clock);
  CallJudge judge(connector, clock, decision_point(*config, std::move(keys->authorizer)), write_log);
  HookJudge hooks(connector, &judge, &metrics);
  auto parts = node_options(*config);
  parts.journal = journal->get();
  parts.catalog = &catalog;
  parts.observer = &metrics;
  parts.models = &models;
  parts.connector = &connector;
  parts.judge = &hooks;
  parts.decision_point = config->authorizer.kind != AuthorizerKind::none;
  parts.exchange = exchange_endpoint(*config, std::move(keys->exchange));
  parts.reviewer = &hooks;
  parts.clock = &clock;
  parts.pack = pack_record;
  parts.sandboxes = {&machine.host(),
                     &machine.workspaces(),
                     static_cast<std::size_t>(config->sandbox.tier2.pool),
                     static_cast<std::size_t>(config->sandbox.tier3.pool)};
  parts.webhook_secrets = std::move(*webhook_secrets);
  parts.deliveries = &metrics;
  CafNode node(std::move(parts));

  if (!options.agents.empty()) {
    const auto teams = teams_of(*config, options.dev);
    if (auto done = register_files(options.agents, teams, catalog, node, clock); !done)
      return complain(done.error(), misused);
  }
  auto offered = service_options(*config, options.dev);
  offered.redactor = *redactor;
  offered.descriptors = &descriptors;
  Service service({node, node.feed(), **journal, clock, catalog, metrics, *users}, std::move(offered));
  const auto port = service.start();
  if (!port) return complain(port.error(), failed);
  auto address = *parse_listen(config->listen);
  address.port = *port;
  if (auto done = announce(*config, address, transport); !done) return complain(done.error(), failed);

  sweep_workspaces(**journal, machine.workspaces());
  node.recover();
  if (!signals.wait_or([&] { return node.recovered(); })) say_ready(*config, address);
  while (!signals.wait_for(workspace_sweep_every_ms))
    sweep_workspaces(**journal, machine.workspaces());
  signals.wait();
  write_log(LogLevel::info, fmt::format("draining, for at most {} ms", config->drain_timeout_ms));
  service.drain();
  node.drain(config->drain_timeout_ms);
  service.stop();
  remove_listen_file(config->data_dir);
  return 0;
}

int journal_dump(const cli::JournalOptions& options) {
  std::optional<RunId> only;
  if (!options.run_id.empty()) {
    const auto run = parse_id<RunKind>(options.run_id);
    if (!run) return complain(run.error(), misused);
    only = *run;
  }
  const auto done = dump_store(options.data_dir, only, std::cout);
  return done ? 0 : complain(done.error(), failed);
}

int journal_verify(const cli::JournalOptions& options) {
  const auto report = verify_store(options.data_dir);
  if (!report) return complain(report.error(), failed);
  if (options.json) {
    std::string problems;
    for (const auto& problem : report->problems) {
      problems += problems.empty() ? "" : ",";
      append_json_string(problems, problem);
    }
    fmt::print(R"({{"ok":{},"runs":{},"events":{},"artifacts":{},"problem_count":{},"problems":[{}]}})"
               "\n",
               report->whole(),
               report->runs,
               report->events,
               report->artifacts,
               report->problem_count,
               problems);
  } else {
    for (const auto& problem : report->problems)
      fmt::print("{}\n", problem);
    fmt::print("{} runs, {} events, {} artifacts: {}\n",
               report->runs,
               report->events,
               report->artifacts,
               report->whole() ? "whole, every hash chain holds"
                               : fmt::format("{} problems", report->problem_count));
  }
  return report->whole() ? 0 : failed;
}

/// 1 says that something is broken; that nothing could be looked at is another matter.
int audit(const cli::JournalOptions& options) {
  const auto report = audit_store(options.data_dir);
  if (!report) return complain(report.error(), misused);
  if (options.metrics) {
    std::cout << audit_metrics(*report);
  } else if (options.json) {
    std::cout << json_object([&](JsonObject& object) {
      object.boolean("ok", report->sound())
          .number("runs", report->runs)
          .number("events", report->events)
          .number("unreadable_runs", report->unreadable_runs)
          .number("violations", report->violation_count())
          .number("duplicate_side_effects", report->duplicate_side_effects())
          .number("unapproved_calls", report->unapproved_calls())
          .number("over_budget", report->over_budget());
      append_json_texts(object.key("problems"), report->problems);
    }) << "\n";
  } else {
    for (const auto& problem : report->problems)
      std::cout << problem << "\n";
    std::cout << fmt::format(
        "{} runs, {} events: {}\n",
        report->runs,
        report->events,
        report->sound() ? "every invariant holds"
                        : fmt::format("{} violations, {} runs that cannot be read; {} duplicate side effects",
                                      report->violation_count(),
                                      report->unreadable_runs,
                                      report->duplicate_side_effects()));
  }
  return report->sound() ? 0 : failed;
}

int journal_salvage(const cli::JournalOptions& options) {
  const auto report = salvage_store(options.data_dir, options.target);
  if (!report) return complain(report.error(), failed);
  for (const auto& lost : report->lost)
    fmt::print("lost: {}\n", lost);
  fmt::print("{} runs copied to {}\n", report->runs_copied, options.target);
  return report->lost.empty() ? 0 : failed;
}

}  // namespace

}  // namespace ratchet

int main(int argc, char** argv) {
  return ratchet::cli::run_command_line(argc,
                                        argv,
                                        {.serve = ratchet::serve,
                                         .journal_dump = ratchet::journal_dump,
                                         .journal_verify = ratchet::journal_verify,
                                         .journal_salvage = ratchet::journal_salvage,
                                         .audit = ratchet::audit});
}
