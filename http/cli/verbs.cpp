// The short verbs. Starting and following runs is in verbs_run.cpp.

#include "http/cli/verbs.hpp"

#include <fstream>
#include <iostream>
#include <sstream>

#include <fmt/format.h>

#include "http/cli/definitions.hpp"
#include "http/cli/fields.hpp"
#include "runtime/hash.hpp"
#include "runtime/ids.hpp"
#include "runtime/json/writer.hpp"

namespace ratchet::cli {

namespace {

std::string run_path(const std::string& run_id, std::string_view below = {}) {
  return fmt::format("/v1/runs/{}{}", encoded(run_id), below);
}

/// Prints what the API returned: as it is, or for people.
template <class ForPeople>
Done say(Context& context, const Outcome<std::string>& reply, const ForPeople& for_people) {
  if (!reply) return tl::unexpected(reply.error());
  if (context.json)
    context.out << *reply << "\n";
  else
    for_people(*reply);
  return ExitStatus::done;
}

/// The place in the file that a refusal of the server is about.
Failure explained(const Definition& definition, Failure failure) {
  const auto pointer = Fields(failure.body).text("pointer");
  if (pointer.empty()) {
    failure.text = fmt::format("{}: {}", definition.file, failure.text);
    return failure;
  }
  const auto position = definition.document.locate(pointer);
  failure.text = fmt::format("{}:{}:{}: {}", definition.file, position.line, position.column, failure.text);
  return failure;
}

}  // namespace

Done apply_files(Context& context, const std::vector<std::string>& paths) {
  std::vector<Definition> all;
  for (const auto& path : paths) {
    auto some = load_definitions(path);
    if (!some) return tl::unexpected(some.error());
    std::move(some->begin(), some->end(), std::back_inserter(all));
  }
  for (const auto kind : {Definition::Kind::tool, Definition::Kind::agent}) {
    for (const auto& definition : all) {
      if (definition.kind != kind) continue;
      const bool agent = kind == Definition::Kind::agent;
      auto reply = context.api.post(
          agent ? fmt::format("/v1/agents/{}/versions", encoded(definition.id)) : "/v1/tools",
          definition.json);
      if (!reply) return tl::unexpected(explained(definition, reply.error()));
      const auto done = say(context, reply, [&](const std::string& body) {
        if (agent)
          context.out << fmt::format("agent {} version {} {}\n",
                                     definition.id,
                                     harmless(Fields(body).text("version")),
                                     harmless(Fields(body).text("state")));
        else
          context.out << fmt::format("tool {}\n", definition.id);
      });
      if (!done) return done;
    }
  }
  return ExitStatus::done;
}

Done list_runs(Context& context, const ListOptions& options) {
  auto path = fmt::format("/v1/runs?limit={}", options.limit);
  const std::pair<const char*, const std::string&> filters[] = {{"status", options.status},
                                                                {"agent_id", options.agent_id},
                                                                {"user_id", options.user_id},
                                                                {"parent_run_id", options.parent_run_id},
                                                                {"stop_reason", options.stop_reason},
                                                                {"since", options.since},
                                                                {"until", options.until},
                                                                {"cursor", options.cursor}};
  for (const auto& [name, value] : filters)
    if (!value.empty()) path += fmt::format("&{}={}", name, encoded(value));
  return say(context, context.api.get(path), [&](const auto& body) { print_runs(context.out, body); });
}

Done show_run(Context& context, const std::string& run_id) {
  const auto shown = say(
      context, context.api.get(run_path(run_id)), [&](const auto& body) { print_value(context.out, body); });
  if (!shown || context.json) return shown;
  const auto children = context.api.get(fmt::format("/v1/runs?limit=200&parent_run_id={}", encoded(run_id)));
  if (!children) return tl::unexpected(children.error());
  if (Fields(*children).text("items") == "[]") return shown;
  context.out << "children:\n";
  print_runs(context.out, *children);
  return shown;
}

Done cancel_run(Context& context, const std::string& run_id, const std::string& reason) {
  std::string json = "{";
  if (!reason.empty()) {
    json += "\"reason\":";
    append_json_string(json, reason);
  }
  return say(context, context.api.post(run_path(run_id, "/cancel"), json + "}"), [&](const auto&) {
    context.out << "asked " << run_id << " to stop\n";
  });
}

Done send_message(Context& context,
                  const std::string& run_id,
                  const std::string& content,
                  const std::string& idempotency_key) {
  auto text = read_argument(content);
  if (!text) return tl::unexpected(text.error());
  std::string json = "{\"content\":";
  append_json_string(json, *text);
  if (!idempotency_key.empty()) {
    json += ",\"idempotency_key\":";
    append_json_string(json, idempotency_key);
  }
  return say(context, context.api.post(run_path(run_id, "/messages"), json + "}"), [&](const auto& body) {
    context.out << "event " << harmless(Fields(body).text("seq")) << "\n";
  });
}

Done resume_run(Context& context, const std::string& run_id) {
  return say(context, context.api.post(run_path(run_id, "/resume"), "{}"), [&](const auto&) {
    context.out << run_id << " goes on\n";
  });
}

Done give_token(Context& context, const std::string& run_id, const std::string& user_token) {
  std::string json = "{\"user_token\":";
  append_json_string(json, user_token);
  return say(context, context.api.post(run_path(run_id, "/user_token"), json + "}"), [&](const auto& body) {
    context.out << "event " << harmless(Fields(body).text("seq")) << "\n";
  });
}

Done resolve_call(Context& context,
                  const std::string& run_id,
                  const std::string& call_id,
                  bool happened,
                  const std::string& result) {
  std::string json = fmt::format("{{\"outcome\":\"{}\"", happened ? "happened" : "did_not_happen");
  if (happened) {
    json += ",\"result\":";
    append_json_string(json, result);
  }
  const auto path = run_path(run_id, fmt::format("/calls/{}/resolve", encoded(call_id)));
  return say(context, context.api.post(path, json + "}"), [&](const auto&) {
    context.out << call_id << (happened ? " happened\n" : " is executed again\n");
  });
}

Done new_key(std::ostream& out,
             const std::string& id,
             const std::string& team,
             const std::vector<Role>& roles) {
  auto entropy = system_entropy();
  std::string key = "ratchet_";
  for (const auto byte : entropy.draw())
    key += fmt::format("{:02x}", byte);
  for (const auto byte : entropy.draw())
    key += fmt::format("{:02x}", byte);
  std::string words;
  for (const auto role : roles)
    words.append(words.empty() ? "" : ", ").append(name(role));
  out << "The key, shown this once; clients send it as `Authorization: Bearer …` (RATCHET_KEY):\n\n  " << key
      << "\n\nIts line below `keys:` in the server's configuration:\n\n"
      << fmt::format("  - {{id: {}, team: {}, roles: [{}], sha256: \"{}\"}}\n",
                     id,
                     team,
                     words,
                     to_string(sha256(key)));
  return ExitStatus::done;
}

Outcome<std::string> read_argument(const std::string& argument) {
  std::ostringstream bytes;
  if (argument == "-") {
    bytes << std::cin.rdbuf();
    return std::move(bytes).str();
  }
  if (!argument.starts_with("@")) return argument;
  std::ifstream file(argument.substr(1), std::ios::binary);
  if (!file || !(bytes << file.rdbuf()))
    return failed(ExitStatus::usage, fmt::format("{} cannot be read, or is empty", argument.substr(1)));
  return std::move(bytes).str();
}

}  // namespace ratchet::cli
