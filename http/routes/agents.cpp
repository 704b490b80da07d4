// Agents in immutable versions: register, look at, promote.

#include <array>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "http/routes/bodies.hpp"
#include "http/routes/parameters.hpp"
#include "http/routes/registration.hpp"
#include "http/routes/route.hpp"
#include "runtime/definition_reader.hpp"
#include "runtime/json/dom.hpp"
#include "runtime/json/object.hpp"

namespace ratchet {

namespace {

using CallPtr = std::shared_ptr<const Call>;

/// serving: new runs get it. available: runs get it that ask for it by number.
std::string_view state_of(std::uint32_t version, std::uint32_t serving) {
  return version == serving ? "serving" : "available";
}

void write_version(const IndexEntry& entry, std::uint32_t serving, JsonObject& out) {
  out.text("agent_id", entry.id)
      .number("version", entry.version)
      .text("digest", to_string(entry.digest))
      .text("state", state_of(entry.version, serving))
      .text("model", entry.text)
      .time("created_at", entry.created_at);
}

/// What a definition asks for and the server's model does not take: it is not sent, and that is said.
std::vector<std::string> warnings_of(const AgentDefinition& definition, const StoredCatalog& catalog) {
  std::vector<std::string> warnings;
  const auto* model = catalog.find_model(definition.model);
  if (!model) return warnings;
  const auto check = [&](std::string_view parameter, const std::string& value) {
    const bool taken =
        std::find(model->sampling.begin(), model->sampling.end(), parameter) != model->sampling.end();
    if (!value.empty() && !taken)
      warnings.push_back(fmt::format("model '{}' does not take {}: it is not sent", model->name, parameter));
  };
  check("temperature", definition.settings.temperature);
  check("top_p", definition.settings.top_p);
  check("top_k", definition.settings.top_k);
  check("seed", definition.settings.seed);
  return warnings;
}

Response registered(const IndexEntry& entry,
                    std::uint32_t serving,
                    const std::vector<std::string>& warnings,
                    bool created) {
  return json_response(created ? 201 : 200, json_object([&](JsonObject& out) {
                         write_version(entry, serving, out);
                         append_json_array(
                             out.key("warnings"), warnings, [](std::string& o, const std::string& warning) {
                               append_json_string(o, warning);
                             });
                       }));
}

void create(Api& api, CallPtr call, Done done) {
  const auto agent_id = name_of(call->ids.at(0), "an agent");
  if (!agent_id) return done(tl::unexpected(agent_id.error()));
  const auto body = read_definition(call->request);
  if (!body) return done(tl::unexpected(body.error()));
  const auto definition = parse_agent(body->json);
  if (!definition) return done(tl::unexpected(body->at_line(definition.error())));
  if (definition->agent_id != *agent_id)
    return done(
        fail(ErrorCode::invalid_definition,
             fmt::format(
                 "agent_id is '{}' in the definition and '{}' in the path", definition->agent_id, *agent_id),
             "/agent_id"));
  register_definition(
      api,
      [&api, call, definition = *definition, at_line = body->at_line]() -> Result<Registration> {
        auto plan = api.catalog.plan_agent(call->client.team, definition, api.clock.now());
        if (!plan) return tl::unexpected(at_line(plan.error()));
        return plan;
      },
      [&api, call, warnings = warnings_of(*definition, api.catalog)](const IndexEntry& entry, bool created) {
        if (created) {
          api.catalog.forget_serving(call->client.team, entry.id);
          return registered(entry, entry.version, warnings, true);
        }
        const auto serving = api.catalog.serving(call->client.team, entry.id);
        return registered(entry, serving.value_or(0), warnings, false);
      },
      std::move(done));
}

Result<Response> list(Api& api, const Call& call) {
  const auto page = Page::of(call);
  if (!page) return tl::unexpected(page.error());
  const auto agents = api.catalog.agents(call.client.team);
  if (!agents) return tl::unexpected(agents.error());
  std::string items = "[", next;
  for (const auto* entry : page->cut(*agents, [](const IndexEntry& each) { return each.id; }, next)) {
    const auto serving = api.catalog.serving(call.client.team, entry->id);
    if (!serving) return tl::unexpected(serving.error());
    if (items.size() > 1) items += ',';
    items += json_object([&](JsonObject& out) {
      out.text("agent_id", entry->id)
          .number("serving_version", *serving)
          .number("newest_version", entry->version)
          .text("model", entry->text);
    });
  }
  items += ']';
  return page->answer(items, next);
}

Result<Response> get(Api& api, const Call& call) {
  const auto id = name_of(call.ids.at(0), "an agent");
  if (!id) return tl::unexpected(id.error());
  const auto versions = api.catalog.versions(call.client.team, *id);
  if (!versions) return tl::unexpected(versions.error());
  const auto serving = api.catalog.serving(call.client.team, *id);
  if (!serving) return tl::unexpected(serving.error());
  return json_response(
      200, json_object([&](JsonObject& out) {
        out.text("agent_id", *id)
            .number("serving_version", *serving)
            .number("newest_version", versions->back().version)
            .text("model", versions->back().text);
        append_json_array(out.key("versions"), *versions, [&](std::string& o, const IndexEntry& entry) {
          o += json_object([&](JsonObject& item) { write_version(entry, *serving, item); });
        });
      }));
}

/// One version of the path's agent.
Result<IndexEntry> find_version(Api& api, const Call& call) {
  const auto id = name_of(call.ids.at(0), "an agent");
  if (!id) return tl::unexpected(id.error());
  const auto number = version_of(call.ids.at(1));
  if (!number) return tl::unexpected(number.error());
  const auto versions = api.catalog.versions(call.client.team, *id);
  if (!versions) return tl::unexpected(versions.error());
  for (const auto& entry : *versions)
    if (entry.version == *number) return entry;
  return fail(ErrorCode::unknown_agent, fmt::format("there is no version {} of agent '{}'", *number, *id));
}

Result<Response> get_version(Api& api, const Call& call) {
  const auto entry = find_version(api, call);
  if (!entry) return tl::unexpected(entry.error());
  const auto serving = api.catalog.serving(call.client.team, entry->id);
  if (!serving) return tl::unexpected(serving.error());
  const auto version = api.catalog.find(call.client.team, entry->id, entry->version);
  if (!version) return tl::unexpected(version.error());
  return json_response(
      200, json_object([&](JsonObject& out) {
        write_version(*entry, *serving, out);
        out.raw("definition", (*version)->definition.source.text);
        append_json_array(out.key("tools"), (*version)->tools, [](std::string& o, const ToolManifest& tool) {
          o += json_object(
              [&](JsonObject& item) { item.text("name", tool.name).text("digest", to_string(tool.digest)); });
        });
      }));
}

/// A body that asks for a share of new runs is refused: only all of them can be given so far.
Result<void> read_promotion(const Request& request) {
  if (request.body.empty()) return {};
  static constexpr std::array<FieldRule, 1> rules = {
      {{"percent", "this version of ratchet promotes for all new runs only"}}};
  if (const auto type = body_type(request, false); !type) return tl::unexpected(type.error());
  const auto value = parse_json(request.body);
  if (!value) return tl::unexpected(value.error());
  std::optional<Error> error;
  const ObjectReader reader(*value, "", rules, error);
  if (error && error->code == ErrorCode::invalid_definition) error->code = ErrorCode::invalid_request;
  if (error) return tl::unexpected(*error);
  return {};
}

void promote(Api& api, CallPtr call, Done done) {
  if (const auto body = read_promotion(call->request); !body) return done(tl::unexpected(body.error()));
  auto entry = find_version(api, *call);
  if (!entry) return done(tl::unexpected(entry.error()));
  auto puts = api.catalog.plan_promotion(call->client.team, entry->id, entry->version);
  if (!puts) return done(tl::unexpected(puts.error()));
  api.node.put_definitions(std::move(*puts), [&api, call, entry = *entry, done](Result<Committed> committed) {
    if (!committed) return done(tl::unexpected(committed.error()));
    api.catalog.forget_serving(call->client.team, entry.id);
    done(json_response(200, json_object([&](JsonObject& out) { write_version(entry, entry.version, out); })));
  });
}

}  // namespace

std::vector<Route> agent_routes() {
  return {
      {"POST", "/v1/agents/{agent_id}/versions", Role::admin, {}, create},
      {"GET", "/v1/agents", Role::read, {"limit", "cursor"}, now<list>},
      {"GET", "/v1/agents/{agent_id}", Role::read, {}, now<get>},
      {"GET", "/v1/agents/{agent_id}/versions/{version}", Role::read, {}, now<get_version>},
      {"POST", "/v1/agents/{agent_id}/versions/{version}/promote", Role::admin, {}, promote},
  };
}

}  // namespace ratchet
