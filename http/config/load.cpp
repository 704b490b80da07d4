// Around the table of keys: files, paths, help, and the model that needs no file.

#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "http/config/parse.hpp"
#include "http/config/place.hpp"
#include "http/config/provider_defaults.hpp"

namespace ratchet {

namespace {

/// Paths in a file are meant from where the file is.
void anchor(std::string& path, const std::filesystem::path& folder) {
  if (!path.empty()) path = (folder / path).lexically_normal().string();
}

}  // namespace

Result<ServerConfig> load_config(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  // A folder opens, but does not read; an empty file reads, but nothing is written of it.
  const bool is_empty = file.peek() == std::ifstream::traits_type::eof() && !file.bad() && file.is_open();
  if (!is_empty && (!file || !(text << file.rdbuf())))
    return fail(ErrorCode::not_found, fmt::format("cannot read {}", path));
  auto config = parse_config(text.str());
  if (!config) return fail(config.error().code, in_file(path, config.error()), config.error().pointer);
  const auto folder = std::filesystem::path(path).parent_path();
  anchor(config->redaction_rules_file, folder);
  for (auto& entry : config->models) {
    for (auto& provider : entry.model.providers)
      anchor(provider.scenario_file, folder);
    for (auto& key : entry.api_keys)
      anchor(key.file, folder);
  }
  anchor(config->identity.exchange.client_secret.file, folder);
  anchor(config->identity.node_key.file, folder);
  anchor(config->authorizer.api_key.file, folder);
  anchor(config->webhook_secret.file, folder);
  return config;
}

std::string config_help() {
  std::string out =
      "The configuration of `ratchet serve`: one YAML file, every key with its default. <name> stands for a "
      "name of\n"
      "yours, [] for each item of a list. Unknown keys are errors.\n\n";
  for (const auto& key : config_keys())
    out += fmt::format(
        "{:<44} {}\n    {}\n", key.path, key.standard.empty() ? "(needed)" : key.standard, key.meaning);
  return out;
}

Result<ModelEntry> model_from_url(std::string_view url, std::string_view protocol, std::string_view model) {
  const auto known = parse_enum<Protocol>(protocol);
  if (!known || *known == Protocol::scripted)
    return fail(ErrorCode::invalid_request,
                fmt::format("--model-protocol is openai or anthropic, not '{}'", protocol));
  if (!url.starts_with("http://") && !url.starts_with("https://"))
    return fail(ErrorCode::invalid_request,
                fmt::format("--model-url '{}' is not an http or https address", url));
  while (url.ends_with('/'))
    url.remove_suffix(1);
  const bool anthropic = *known == Protocol::anthropic;
  ModelEntry out;
  out.model.name = "default";
  ProviderConfig endpoint;
  endpoint.protocol = *known;
  endpoint.base_url = url;
  endpoint.model = model.empty() ? "default" : model;
  endpoint.key_header = config::usual_key_header(*known);
  endpoint.max_tokens_field = config::usual_max_tokens_field(url);
  out.model.providers.push_back(std::move(endpoint));
  const char* variable = anthropic ? "ANTHROPIC_API_KEY" : "OPENAI_API_KEY";
  out.api_keys.push_back(std::getenv(variable) != nullptr
                             ? KeySource{.file = {}, .env = variable, .credential = {}}
                             : KeySource{});
  return out;
}

}  // namespace ratchet
