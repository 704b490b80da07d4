#include "http/startup.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "http/cli/definitions.hpp"

namespace ratchet {

namespace {

sigset_t stop_set() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

Result<Committed> put(Node& node, std::vector<DefinitionPut> puts) {
  std::promise<Result<Committed>> answer;
  node.put_definitions(std::move(puts),
                       [&](Result<Committed> result) { answer.set_value(std::move(result)); });
  return answer.get_future().get();
}

Result<Registration> plan(const cli::Definition& definition,
                          const std::string& team,
                          StoredCatalog& catalog,
                          Clock& clock) {
  if (definition.kind == cli::Definition::Kind::tool)
    return parse_manifest(definition.json).and_then([&](const ToolManifest& manifest) {
      return catalog.plan_tool(team, manifest, clock.now());
    });
  return parse_agent(definition.json).and_then([&](const AgentDefinition& agent) {
    return catalog.plan_agent(team, agent, clock.now());
  });
}

}  // namespace

StopSignals::StopSignals() {
  const auto set = stop_set();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

bool StopSignals::wait_or(const std::function<bool()>& done) {
  const auto set = stop_set();
  const timespec pause{.tv_sec = 0, .tv_nsec = 5'000'000};
  while (!came_ && !done())
    came_ = sigtimedwait(&set, nullptr, &pause) > 0;
  return came_;
}

bool StopSignals::wait_for(std::int64_t ms) {
  const auto set = stop_set();
  const timespec pause{.tv_sec = ms / 1'000, .tv_nsec = ms % 1'000 * 1'000'000};
  // Interrupted, it is over early: whoever waits again loses nothing.
  if (!came_) came_ = sigtimedwait(&set, nullptr, &pause) > 0;
  return came_;
}

void StopSignals::wait() {
  const auto set = stop_set();
  int number = 0;
  while (!came_)
    came_ = sigwait(&set, &number) == 0;
  std::thread([set] {
    int second = 0;
    sigwait(&set, &second);
    _exit(128 + second);
  }).detach();
}

void remove_listen_file(const std::string& data_dir) {
  std::error_code ignored;  // where it cannot be removed, it cannot be written either, and that is told
  std::filesystem::remove(data_dir + "/listen", ignored);
}

Result<void> write_listen_file(const std::string& data_dir, const ListenAddress& address) {
  const auto path = data_dir + "/listen", fresh = path + ".new";
  std::ofstream file(fresh);
  file << to_string(address) << "\n";
  file.close();
  if (!file || std::rename(fresh.c_str(), path.c_str()) != 0)
    return fail(ErrorCode::store_unavailable, fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  return {};
}

Result<std::shared_ptr<const Redactor>> load_redactor(const std::string& rules_file) {
  if (rules_file.empty()) return Redactor::standard();
  std::ifstream file(rules_file, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    return fail(ErrorCode::not_found, fmt::format("redaction.rules_file: cannot read {}", rules_file));
  const auto named = [&](const Error& error) {
    return tl::unexpected(Error{error.code, fmt::format("{}: {}", rules_file, error.text), error.pointer});
  };
  const auto rules = parse_redaction_rules(text.str());
  if (!rules) return named(rules.error());
  auto redactor = Redactor::make(*rules);
  if (!redactor) return named(redactor.error());
  return redactor;
}

Result<void> register_files(const std::string& path,
                            const std::vector<std::string>& teams,
                            StoredCatalog& catalog,
                            Node& node,
                            Clock& clock) {
  const auto definitions = cli::load_definitions(path);
  if (!definitions) return fail(ErrorCode::invalid_definition, definitions.error().text);
  for (const auto& team : teams) {
    for (const auto& definition : *definitions) {
      auto planned = plan(definition, team, catalog, clock);
      if (!planned) return fail(planned.error().code, definition.explain(planned.error()));
      if (planned->puts.empty()) continue;
      auto committed = put(node, std::move(planned->puts));
      if (!committed)
        return fail(committed.error().code, fmt::format("{}: {}", definition.file, committed.error().text));
      if (definition.kind == cli::Definition::Kind::agent) catalog.forget_serving(team, definition.id);
    }
  }
  return {};
}

}  // namespace ratchet
