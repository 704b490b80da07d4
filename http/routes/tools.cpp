// The tools of a team, and those that ratchet brings along.

#include <algorithm>

#include <fmt/format.h>

#include "http/routes/parameters.hpp"
#include "http/routes/registration.hpp"
#include "http/routes/route.hpp"
#include "runtime/json/object.hpp"

namespace ratchet {

namespace {

/// A tool as a list shows it.
struct Listed {
  std::string name, description;
  std::string digest;
  std::optional<std::uint32_t> version;  ///< none of what is built in
  std::optional<Timestamp> created_at;
};

Listed listed(const ToolManifest& builtin) {
  return {builtin.name, builtin.description, to_string(builtin.digest), std::nullopt, std::nullopt};
}

Listed listed(const IndexEntry& entry) {
  return {entry.id, entry.text, to_string(entry.digest), entry.version, entry.created_at};
}

void write(const Listed& tool, JsonObject& out) {
  out.text("name", tool.name)
      .text("description", tool.description)
      .text("digest", tool.digest)
      .boolean("builtin", !tool.version)
      .optional("created_at", tool.created_at, [](Timestamp at) { return to_string(at); });
}

void create(Api& api, std::shared_ptr<const Call> call, Done done) {
  const auto body = read_definition(call->request);
  if (!body) return done(tl::unexpected(body.error()));
  const auto manifest = parse_manifest(body->json);
  if (!manifest) return done(tl::unexpected(body->at_line(manifest.error())));
  register_definition(
      api,
      [&api, call, manifest = *manifest] {
        return api.catalog.plan_tool(call->client.team, manifest, api.clock.now());
      },
      [](const IndexEntry& entry, bool created) {
        return json_response(created ? 201 : 200, json_object([&](JsonObject& out) {
                               out.text("name", entry.id).text("digest", to_string(entry.digest));
                             }));
      },
      std::move(done));
}

Result<Response> list(Api& api, const Call& call) {
  const auto page = Page::of(call);
  if (!page) return tl::unexpected(page.error());
  const auto registered = api.catalog.tools(call.client.team);
  if (!registered) return tl::unexpected(registered.error());
  std::vector<Listed> all;
  for (const auto& builtin : builtin_manifests())
    all.push_back(listed(builtin));
  for (const auto& entry : *registered)
    all.push_back(listed(entry));
  std::sort(all.begin(), all.end(), [](const Listed& a, const Listed& b) { return a.name < b.name; });
  std::string items, next;
  append_json_array(items,
                    page->cut(
                        all, [](const Listed& tool) { return tool.name; }, next),
                    [](std::string& out, const Listed* tool) {
                      out += json_object([&](JsonObject& object) { write(*tool, object); });
                    });
  return page->answer(items, next);
}

Result<Response> get(Api& api, const Call& call) {
  const auto name = name_of(call.ids.at(0), "a tool");
  if (!name) return tl::unexpected(name.error());
  const auto answer = [](const Listed& tool, const ToolManifest& manifest) {
    return json_response(200, json_object([&](JsonObject& out) {
                           write(tool, out);
                           out.raw("manifest", manifest.source.text);
                         }));
  };
  if (const auto* builtin = find_builtin(*name)) return answer(listed(*builtin), *builtin);
  const auto found = api.catalog.tool(call.client.team, *name);
  if (!found) return tl::unexpected(found.error());
  return answer(listed(found->first), found->second);
}

}  // namespace

std::vector<Route> tool_routes() {
  return {
      {"POST", "/v1/tools", Role::admin, {}, create},
      {"GET", "/v1/tools", Role::read, {"limit", "cursor"}, now<list>},
      {"GET", "/v1/tools/{name}", Role::read, {}, now<get>},
  };
}

}  // namespace ratchet
