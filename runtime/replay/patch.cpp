#include "runtime/replay/patch.hpp"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/json/canonical.hpp"
#include "runtime/json/dom.hpp"
#include "runtime/limits.hpp"
#include "runtime/tools/policy.hpp"

namespace ratchet {

namespace {

namespace json = boost::json;

/// A patch was an object when it was taken; what stands in a journal may have been damaged since.
Result<json::object> object_of(const Json& text) {
  auto value = parse_json(text.text);
  if (!value) return tl::unexpected(value.error());
  if (!value->is_object()) return fail(ErrorCode::corrupt, "a patch is not an object");
  return std::move(value->get_object());
}

Result<Json> canonical(const json::object& object) {
  std::string text;
  append_json(text, object);
  auto form = canonical_json(text);
  if (!form) return tl::unexpected(form.error());
  return Json{std::move(*form)};
}

/// The members of `value`, where both are objects, over those of `into`; otherwise `value` takes its place.
void overlay(json::value& into, const json::value& value) {
  if (!into.is_object() || !value.is_object()) {
    into = value;
    return;
  }
  for (const auto& [name, member] : value.get_object())
    into.get_object()[name] = member;
}

/// A model that is named by a string alone, as the object that a definition has.
json::value model_of(const json::value& value) {
  return value.is_string() ? json::value(json::object{{"name", value}}) : value;
}

void apply_member(json::object& to, std::string_view name, const json::value& value) {
  json::value& member = to[name];
  if (name == "model" || name == "budgets") {
    if (name == "model") member = model_of(member);
    overlay(member, name == "model" ? model_of(value) : value);
  } else {
    member = value;
  }
}

constexpr std::string_view definition_members[] = {"system_prompt", "model", "tools", "policy", "budgets"};

bool is_of_definition(std::string_view name) {
  return std::find(std::begin(definition_members), std::end(definition_members), name) !=
         std::end(definition_members);
}

Result<std::vector<ToolManifest>> manifests_of(const json::object& patch) {
  std::vector<ToolManifest> manifests;
  const auto* list = patch.if_contains("manifests");
  if (!list || !list->is_array()) return manifests;
  for (const json::value& stored : list->get_array()) {
    std::string text;
    append_json(text, stored);
    auto manifest = parse_manifest(text, ManifestOrigin::pinned);
    if (!manifest) return tl::unexpected(manifest.error());
    manifests.push_back(std::move(*manifest));
  }
  return manifests;
}

const ToolManifest* find_in(const std::vector<ToolManifest>& manifests, std::string_view name) {
  const auto at = std::find_if(
      manifests.begin(), manifests.end(), [&](const ToolManifest& tool) { return tool.name == name; });
  return at == manifests.end() ? nullptr : &*at;
}

/// The tools of the patched definition: as the registered version pinned them, or as the replay did.
Result<std::vector<ToolManifest>> pinned_tools(const AgentDefinition& definition,
                                               const AgentVersion& base,
                                               const std::vector<ToolManifest>& manifests) {
  std::vector<ToolManifest> tools;
  for (const std::string& name : definition.tools) {
    const ToolManifest* tool = base.find_tool(name);
    if (!tool) tool = find_in(manifests, name);
    if (!tool)
      return fail(ErrorCode::invalid_definition, fmt::format("there is no tool '{}'", name), "/tools");
    tools.push_back(*tool);
  }
  std::sort(tools.begin(), tools.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return tools;
}

tl::unexpected<Error> in_patch(Error error) {
  error.pointer = "/patch" + error.pointer;
  return tl::unexpected(std::move(error));
}

Result<AgentDefinition> patched_definition(const AgentDefinition& base, const json::object& patch) {
  auto definition = object_of(base.source);
  if (!definition) return tl::unexpected(definition.error());
  for (const auto& [name, value] : patch)
    if (is_of_definition(name)) apply_member(*definition, name, value);
  std::string text;
  append_json(text, *definition);
  return parse_agent(text);
}

}  // namespace

Result<Json> combine(const Json& before, const Json& patch) {
  auto all = object_of(before);
  if (!all) return tl::unexpected(all.error());
  const auto more = object_of(patch);
  if (!more) return tl::unexpected(more.error());
  all->erase("mocks");
  for (const auto& [name, value] : *more)
    apply_member(*all, name, value);
  return canonical(*all);
}

Result<Json> with_manifests(const Json& patch, const std::vector<std::string>& manifests) {
  auto object = object_of(patch);
  if (!object) return tl::unexpected(object.error());
  json::value& list = (*object)["manifests"];
  if (!list.is_array()) list.emplace_array();
  for (const std::string& manifest : manifests) {
    auto value = parse_json(manifest);
    if (!value) return tl::unexpected(value.error());
    list.get_array().push_back(std::move(*value));
  }
  return canonical(*object);
}

Result<std::vector<std::string>> tools_to_pin(const AgentVersion& base, const Json& patch) {
  const auto object = object_of(patch);
  if (!object) return tl::unexpected(object.error());
  const auto manifests = manifests_of(*object);
  if (!manifests) return tl::unexpected(manifests.error());
  std::vector<std::string> missing;
  const auto* tools = object->if_contains("tools");
  if (!tools || !tools->is_array()) return missing;
  for (const json::value& tool : tools->get_array()) {
    if (!tool.is_string()) continue;  // refused with the definition
    const std::string name(tool.get_string());
    if (!base.find_tool(name) && !find_in(*manifests, name)) missing.push_back(name);
  }
  return missing;
}

Result<std::shared_ptr<const AgentVersion>> patched(std::shared_ptr<const AgentVersion> base,
                                                    const Json& patch) {
  const auto object = object_of(patch);
  if (!object) return tl::unexpected(object.error());
  const bool same = std::none_of(
      object->begin(), object->end(), [](const auto& member) { return is_of_definition(member.key()); });
  if (same) return base;
  auto definition = patched_definition(base->definition, *object);
  if (!definition) return in_patch(definition.error());
  const auto manifests = manifests_of(*object);
  if (!manifests) return in_patch(manifests.error());
  auto tools = pinned_tools(*definition, *base, *manifests);
  if (!tools) return in_patch(tools.error());
  if (auto fits = check_agent(*definition, *tools); !fits) return in_patch(fits.error());
  auto version = std::make_shared<AgentVersion>();
  version->definition = std::move(*definition);
  version->version = base->version;
  version->tools = std::move(*tools);
  return version;
}

Result<std::map<std::string, std::string, std::less<>>> mocks_of(const Json& patch) {
  std::map<std::string, std::string, std::less<>> mocks;
  const auto object = object_of(patch);
  if (!object) return tl::unexpected(object.error());
  const auto* given = object->if_contains("mocks");
  if (!given || !given->is_object()) return mocks;
  if (given->get_object().size() > limits::replay_mocks_max)
    return fail(ErrorCode::not_replayable,
                fmt::format("there are {} mocks; a replay takes {} at most",
                            given->get_object().size(),
                            limits::replay_mocks_max),
                "/patch/mocks");
  for (const auto& [tool, result] : given->get_object()) {
    std::string& text = mocks[std::string(tool)];
    if (result.is_string())
      text = std::string(result.get_string());
    else
      append_json(text, result);
  }
  return mocks;
}

Json only(const Json& patch, std::string_view member) {
  const auto object = object_of(patch);
  const auto* value = object ? object->if_contains(member) : nullptr;
  if (!value) return Json{"{}"};
  Json kept{""};
  append_json(kept.text, json::object{{member, *value}});
  return kept;
}

bool changes(const Json& patch, std::string_view member) {
  const auto object = object_of(patch);
  return object && object->contains(member);
}

}  // namespace ratchet
