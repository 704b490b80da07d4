#include "http/catalog.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/context/head.hpp"
#include "runtime/context/window.hpp"
#include "runtime/json/dom.hpp"
#include "runtime/json/object.hpp"
#include "runtime/limits.hpp"
#include "runtime/pointer.hpp"
#include "runtime/tools/policy.hpp"

namespace ratchet {

namespace {

constexpr std::size_t cached_versions_max = 4'096;  // then the cache begins anew

std::string list_prefix(std::string_view kind, std::string_view team) {
  return fmt::format("{}/{}/", kind, team);
}

std::string key_of(std::string_view kind, std::string_view team, std::string_view id) {
  return fmt::format("{}/{}/{}", kind, team, id);
}

std::string key_of(std::string_view kind, std::string_view team, std::string_view id, std::uint32_t version) {
  return fmt::format("{}/{}/{}/{:010}", kind, team, id, version);
}

Result<std::uint32_t> parse_version(std::string_view text) {
  std::uint32_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (error != std::errc() || end != text.data() + text.size() || version == 0)
    return fail(ErrorCode::corrupt, fmt::format("'{}' is no version of a definition", text.substr(0, 64)));
  return version;
}

std::string render_index(const IndexEntry& entry) {
  return json_object([&](JsonObject& object) {
    object.text("digest", to_string(entry.digest))
        .text("identity", to_string(entry.identity))
        .time("created_at", entry.created_at)
        .text("text", entry.text);
  });
}

/// Reads what `render_index` wrote under `key`.
Result<IndexEntry> parse_index(const std::string& key, const std::string& json) {
  const auto corrupt = [&] {
    return fail(ErrorCode::corrupt, fmt::format("the stored definition {} is damaged", key));
  };
  const auto last = key.rfind('/'), middle = key.rfind('/', last - 1);
  const auto value = parse_json(json);
  const auto version = parse_version(std::string_view(key).substr(last + 1));
  if (!value || !value->is_object() || !version) return corrupt();
  const auto text = [&](const char* name) -> std::string {
    const auto* member = value->get_object().if_contains(name);
    return member && member->is_string() ? std::string(member->get_string()) : std::string();
  };
  const auto digest = parse_hash(text("digest")), identity = parse_hash(text("identity"));
  const auto created_at = parse_timestamp(text("created_at"));
  if (!digest || !identity || !created_at) return corrupt();
  return IndexEntry{
      key.substr(middle + 1, last - middle - 1), *version, *digest, *identity, *created_at, text("text")};
}

/// An agent version as it is stored: the definition and the manifests that it pinned.
std::string render_body(const AgentDefinition& definition, const std::vector<ToolManifest>& tools) {
  return json_object([&](JsonObject& body) {
    body.raw("definition", definition.source.text);
    append_json_array(body.key("tools"), tools, [](std::string& out, const ToolManifest& tool) {
      out += tool.source.text;
    });
  });
}

Result<std::shared_ptr<const AgentVersion>> parse_body(const std::string& json, std::uint32_t version) {
  const auto value = parse_json(json);
  const auto* body = value ? value->if_object() : nullptr;
  const auto* definition = body ? body->if_contains("definition") : nullptr;
  const auto* tools = body ? body->if_contains("tools") : nullptr;
  if (!definition || !tools || !tools->is_array())
    return fail(ErrorCode::corrupt, "a stored agent version is damaged");
  const auto text = [](const boost::json::value& part) {
    std::string out;
    append_json(out, part);
    return out;
  };
  auto found = std::make_shared<AgentVersion>();
  found->version = version;
  auto parsed = parse_agent(text(*definition));
  if (!parsed) return tl::unexpected(parsed.error());
  found->definition = std::move(*parsed);
  for (const auto& stored : tools->get_array()) {
    auto manifest = parse_manifest(text(stored), ManifestOrigin::pinned);
    if (!manifest) return tl::unexpected(manifest.error());
    found->tools.push_back(std::move(*manifest));
  }
  return found;
}

}  // namespace

class StoredCatalog::Impl {
 public:
  Impl(JournalReader& journal, std::vector<ModelConfig> models, std::int64_t subagent_levels_max)
      : journal_(journal), models_(std::move(models)), subagent_levels_max_(subagent_levels_max) {}

  Result<std::vector<IndexEntry>> index(std::string_view table, const std::string& prefix) {
    const auto stored = journal_.definitions(table, prefix);
    if (!stored) return tl::unexpected(stored.error());
    std::vector<IndexEntry> entries;
    for (const auto& [key, json] : *stored) {
      auto entry = parse_index(key, json);
      if (!entry) return tl::unexpected(entry.error());
      entries.push_back(std::move(*entry));
    }
    return entries;
  }

  /// The newest of each id.
  Result<std::vector<IndexEntry>> newest(std::string_view table, std::string_view team) {
    auto entries = index(table, list_prefix("index", team));
    if (!entries) return entries;
    std::vector<IndexEntry> newest;
    for (auto& entry : *entries) {
      if (!newest.empty() && newest.back().id == entry.id) newest.pop_back();
      newest.push_back(std::move(entry));
    }
    return newest;
  }

  /// The value under exactly this key, if there is one.
  Result<std::optional<std::string>> value(std::string_view table, const std::string& key) {
    auto stored = journal_.definitions(table, key);
    if (!stored) return tl::unexpected(stored.error());
    for (auto& [found, json] : *stored)
      if (found == key) return std::move(json);
    return std::nullopt;
  }

  Result<std::uint32_t> serving(std::string_view team, std::string_view agent_id) {
    const auto key = key_of("serving", team, agent_id);
    std::uint64_t round = 0;
    {
      const std::lock_guard lock(mutex_);
      if (const auto at = serving_.find(key); at != serving_.end()) return at->second;
      round = round_;
    }
    const auto stored = value("agent", key);
    if (!stored) return tl::unexpected(stored.error());
    if (!*stored) return fail(ErrorCode::unknown_agent, fmt::format("there is no agent '{}'", agent_id));
    const auto version = parse_version(**stored);
    if (!version) return version;
    const std::lock_guard lock(mutex_);
    // What was read before the last commit may be old by now: it is used once and not kept.
    if (round == round_) serving_[key] = *version;
    return version;
  }

  void forget_serving(std::string_view team, std::string_view agent_id) {
    const std::lock_guard lock(mutex_);
    ++round_;
    serving_.erase(key_of("serving", team, agent_id));
  }

  Result<std::shared_ptr<const AgentVersion>> version(std::string_view team,
                                                      std::string_view agent_id,
                                                      std::uint32_t number) {
    const auto key = key_of("body", team, agent_id, number);
    {
      const std::lock_guard lock(mutex_);
      if (const auto at = versions_.find(key); at != versions_.end()) return at->second;
    }
    const auto stored = value("agent", key);
    if (!stored) return tl::unexpected(stored.error());
    if (!*stored)
      return fail(ErrorCode::unknown_agent,
                  fmt::format("there is no version {} of an agent '{}'", number, agent_id));
    auto parsed = parse_body(**stored, number);
    if (!parsed) return parsed;
    const std::lock_guard lock(mutex_);
    if (versions_.size() >= cached_versions_max) versions_.clear();
    return versions_.emplace(key, std::move(*parsed)).first->second;
  }

  Result<std::pair<IndexEntry, ToolManifest>> tool(std::string_view team, std::string_view name) {
    const auto entries = index("tool", key_of("index", team, name) + '/');
    if (!entries) return tl::unexpected(entries.error());
    if (entries->empty()) return fail(ErrorCode::unknown_tool, fmt::format("there is no tool '{}'", name));
    const auto& newest = entries->back();
    const auto stored = value("tool", key_of("body", team, name, newest.version));
    if (!stored) return tl::unexpected(stored.error());
    if (!*stored) return fail(ErrorCode::corrupt, fmt::format("the manifest of tool '{}' is missing", name));
    auto manifest = parse_manifest(**stored, ManifestOrigin::pinned);
    if (!manifest) return tl::unexpected(manifest.error());
    return std::pair(newest, std::move(*manifest));
  }

  /// The manifests that the definition names, as they are now, by name.
  Result<std::vector<ToolManifest>> pin_tools(std::string_view team, const AgentDefinition& definition) {
    std::vector<ToolManifest> pinned;
    for (std::size_t i = 0; i < definition.tools.size(); ++i) {
      const auto& wanted = definition.tools[i];
      if (const auto* builtin = find_builtin(wanted)) {
        pinned.push_back(*builtin);
        continue;
      }
      auto found = tool(team, wanted);
      if (!found && found.error().code == ErrorCode::unknown_tool)
        return fail(ErrorCode::invalid_definition, found.error().text, fmt::format("/tools/{}", i));
      if (!found) return tl::unexpected(found.error());
      pinned.push_back(std::move(found->second));
    }
    std::sort(pinned.begin(), pinned.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return pinned;
  }

  /// What of the definition depends on the server's models.
  Result<void> check_model(const AgentVersion& version) {
    const auto& definition = version.definition;
    const auto* model = find_model(definition.model);
    if (!model) {
      std::string known;
      for (const auto& each : models_)
        known += (known.empty() ? "" : ", ") + each.name;
      return fail(ErrorCode::invalid_definition,
                  fmt::format("there is no model '{}'; this server has: {}", definition.model, known),
                  "/model/name");
    }
    if (definition.settings.max_output_tokens > model->max_output_tokens)
      return fail(ErrorCode::invalid_definition,
                  fmt::format("max_output_tokens is {}; model '{}' gives at most {}",
                              definition.settings.max_output_tokens,
                              model->name,
                              model->max_output_tokens),
                  "/model/max_output_tokens");
    const auto fixed = make_head(version, *model, definition.settings, 0)->estimated_tokens;
    const auto usable = usable_window_tokens(*model, definition.settings);
    if (fixed + limits::useful_reply_tokens_min > usable)
      return fail(
          ErrorCode::invalid_definition,
          fmt::format("prompt and tools take about {} tokens; of the {} of model '{}', {} are left beside "
                      "a reply of {}",
                      fixed,
                      model->context_window_tokens,
                      model->name,
                      usable,
                      wanted_reply_tokens(*model, definition.settings)),
          "/system_prompt");
    return {};
  }

  Result<void> check_levels(const AgentDefinition& definition) const {
    const auto wanted = definition.subagents.max_depth;
    if (wanted <= subagent_levels_max_) return {};
    return fail(
        ErrorCode::invalid_definition,
        fmt::format("{} levels of sub-agents; subagents.max_depth of this server's configuration is {}",
                    wanted,
                    subagent_levels_max_),
        "/subagents/max_depth");
  }

  const ModelConfig* find_model(std::string_view name) const {
    const auto at = std::find_if(
        models_.begin(), models_.end(), [&](const ModelConfig& model) { return model.name == name; });
    return at == models_.end() ? nullptr : &*at;
  }

 private:
  JournalReader& journal_;
  const std::vector<ModelConfig> models_;
  const std::int64_t subagent_levels_max_;

  std::mutex mutex_;  ///< guards all below
  std::map<std::string, std::shared_ptr<const AgentVersion>> versions_;
  std::map<std::string, std::uint32_t> serving_;
  std::uint64_t round_ = 0;  ///< counts commits that may have changed what serves
};

StoredCatalog::StoredCatalog(JournalReader& journal,
                             std::vector<ModelConfig> models,
                             std::int64_t subagent_levels_max)
    : impl_(std::make_unique<Impl>(journal, std::move(models), subagent_levels_max)) {}

StoredCatalog::~StoredCatalog() = default;

Result<std::shared_ptr<const AgentVersion>> StoredCatalog::find(std::string_view team,
                                                                std::string_view agent_id,
                                                                std::uint32_t version) {
  if (version != 0) return impl_->version(team, agent_id, version);
  const auto serves = impl_->serving(team, agent_id);
  if (!serves) return tl::unexpected(serves.error());
  return impl_->version(team, agent_id, *serves);
}

const ModelConfig* StoredCatalog::find_model(std::string_view name) const {
  return impl_->find_model(name);
}

Result<Registration> StoredCatalog::plan_tool(std::string_view team,
                                              const ToolManifest& manifest,
                                              Timestamp now) {
  const auto all = impl_->newest("tool", team);
  if (!all) return tl::unexpected(all.error());
  const auto at = std::find_if(
      all->begin(), all->end(), [&](const IndexEntry& entry) { return entry.id == manifest.name; });
  if (at != all->end() && at->identity == manifest.digest) return Registration{*at, {}};
  if (at == all->end() && all->size() >= limits::tools_per_team_max)
    return fail(ErrorCode::invalid_definition,
                fmt::format("a team has at most {} tools", limits::tools_per_team_max));
  const std::uint32_t version = at == all->end() ? 1 : at->version + 1;
  Registration plan{{manifest.name, version, manifest.digest, manifest.digest, now, manifest.description},
                    {}};
  plan.puts = {{"tool", key_of("index", team, manifest.name, version), render_index(plan.entry), true},
               {"tool", key_of("body", team, manifest.name, version), manifest.source.text, true}};
  return plan;
}

Result<Registration> StoredCatalog::plan_agent(std::string_view team,
                                               const AgentDefinition& definition,
                                               Timestamp now) {
  AgentVersion version{definition, 1, {}};
  auto pinned = impl_->pin_tools(team, definition);
  if (!pinned) return tl::unexpected(pinned.error());
  version.tools = std::move(*pinned);
  if (auto fits = check_agent(definition, version.tools); !fits) return tl::unexpected(fits.error());
  if (auto fits = impl_->check_model(version); !fits) return tl::unexpected(fits.error());
  if (auto fits = impl_->check_levels(definition); !fits) return tl::unexpected(fits.error());
  Sha256 identity;
  identity.add(definition.digest.view());
  for (const auto& tool : version.tools)
    identity.add(tool.digest.view());

  const auto& id = definition.agent_id;
  const auto entries = impl_->index("agent", key_of("index", team, id) + '/');
  if (!entries) return tl::unexpected(entries.error());
  for (const auto& entry : *entries)
    if (entry.identity == identity.finish()) return Registration{entry, {}};
  version.version = entries->empty() ? 1 : entries->back().version + 1;
  Registration plan{{id, version.version, definition.digest, identity.finish(), now, definition.model}, {}};
  plan.puts = {
      {"agent", key_of("index", team, id, version.version), render_index(plan.entry), true},
      {"agent", key_of("body", team, id, version.version), render_body(definition, version.tools), true},
      {"agent", key_of("serving", team, id), std::to_string(version.version), false}};
  return plan;
}

Result<std::vector<DefinitionPut>> StoredCatalog::plan_promotion(std::string_view team,
                                                                 std::string_view agent_id,
                                                                 std::uint32_t version) {
  if (auto found = impl_->version(team, agent_id, version); !found) return tl::unexpected(found.error());
  return std::vector<DefinitionPut>{
      {"agent", key_of("serving", team, agent_id), std::to_string(version), false}};
}

void StoredCatalog::forget_serving(std::string_view team, std::string_view agent_id) {
  impl_->forget_serving(team, agent_id);
}

Result<std::vector<IndexEntry>> StoredCatalog::tools(std::string_view team) {
  return impl_->newest("tool", team);
}

Result<std::pair<IndexEntry, ToolManifest>> StoredCatalog::tool(std::string_view team,
                                                                std::string_view name) {
  return impl_->tool(team, name);
}

Result<std::vector<IndexEntry>> StoredCatalog::agents(std::string_view team) {
  return impl_->newest("agent", team);
}

Result<std::vector<IndexEntry>> StoredCatalog::versions(std::string_view team, std::string_view agent_id) {
  auto entries = impl_->index("agent", key_of("index", team, agent_id) + '/');
  if (entries && entries->empty())
    return fail(ErrorCode::unknown_agent, fmt::format("there is no agent '{}'", agent_id));
  return entries;
}

Result<std::uint32_t> StoredCatalog::serving(std::string_view team, std::string_view agent_id) {
  return impl_->serving(team, agent_id);
}

}  // namespace ratchet
