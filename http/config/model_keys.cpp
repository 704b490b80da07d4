// The keys of `models`: what a model costs and takes, and who serves it.

#include "http/config/model_keys.hpp"

#include <fmt/format.h>

#include "http/config/provider_defaults.hpp"
#include "runtime/ids.hpp"

namespace ratchet::config {

namespace {

/// The text is not repeated: it may have a key in it.
Done check_base_url(const Value& at, std::string_view url) {
  const auto refuse = [&](std::string why) {
    return fail_at(at, ErrorCode::invalid_request, std::move(why));
  };
  const std::size_t host_at = url.starts_with("http://") ? 7 : url.starts_with("https://") ? 8 : url.size();
  if (host_at == url.size()) return refuse("it is not an http or https address");
  if (url.substr(host_at, url.find('/', host_at) - host_at).find('@') != std::string_view::npos)
    return refuse("credentials do not stand in addresses: api_key_file, api_key_env or api_key_credential");
  if (url.find_first_of("?#") != std::string_view::npos)
    return refuse("a path is added to the address: it has no query and no fragment");
  return {};
}

// --- prices ------------------------------------------------------------------------------------------------

constexpr Key<Prices> price_keys[] = {
    {"input",
     "\"0\"",
     "Tokens that were read for the first time.",
     [](Prices& p, const Value& v) { return read_usd(v, p.input); }},
    {"cached_input",
     "\"0\"",
     "Tokens that the provider found in its prompt cache.",
     [](Prices& p, const Value& v) { return read_usd(v, p.cached_input); }},
    {"cache_write",
     "\"0\"",
     "Tokens that the provider put into its prompt cache.",
     [](Prices& p, const Value& v) { return read_usd(v, p.cache_write); }},
    {"output",
     "\"0\"",
     "Tokens that the model wrote.",
     [](Prices& p, const Value& v) { return read_usd(v, p.output); }},
};

// --- providers ---------------------------------------------------------------------------------------------

struct Provider {
  ProviderConfig endpoint;
  KeySource api_key;
  bool header_given = false, field_given = false;
};

constexpr Key<Provider> provider_keys[] = {
    {"protocol",
     "",
     "anthropic (Messages), openai (Chat Completions) or scripted (plays a scenario file).",
     [](Provider& p, const Value& v) { return read_word(v, p.endpoint.protocol); }},
    {"base_url",
     "null",
     "Where it is served; null: the protocol's own, api.anthropic.com or api.openai.com/v1.",
     [](Provider& p, const Value& v) -> Done {
       if (v.kind == Value::Kind::null) return {};
       if (auto done = read_text(v, p.endpoint.base_url); !done) return done;
       while (p.endpoint.base_url.ends_with('/'))
         p.endpoint.base_url.pop_back();
       return check_base_url(v, p.endpoint.base_url);
     }},
    {"model",
     "null",
     "The provider's own name of the model; needed unless the protocol is scripted.",
     [](Provider& p, const Value& v) -> Done { return read_optional_text(v, p.endpoint.model); }},
    {"api_key_file",
     "null",
     "A file that holds the key; relative to this file.",
     [](Provider& p, const Value& v) -> Done { return read_optional_text(v, p.api_key.file); }},
    {"api_key_env",
     "null",
     "An environment variable that holds the key.",
     [](Provider& p, const Value& v) -> Done { return read_optional_text(v, p.api_key.env); }},
    {"api_key_credential",
     "null",
     "A systemd credential that holds the key (LoadCredential=).",
     [](Provider& p, const Value& v) -> Done { return read_optional_text(v, p.api_key.credential); }},
    {"key_header",
     "null",
     "How the key travels: bearer or x_api_key; null: x_api_key for anthropic, else bearer.",
     [](Provider& p, const Value& v) -> Done {
       p.header_given = v.kind != Value::Kind::null;
       return p.header_given ? read_word(v, p.endpoint.key_header) : Done{};
     }},
    {"api_version",
     "2023-06-01",
     "anthropic: the anthropic-version header.",
     [](Provider& p, const Value& v) { return read_text(v, p.endpoint.api_version); }},
    {"max_tokens_field",
     "null",
     "openai: the field of the limit; null: max_completion_tokens at api.openai.com, max_tokens elsewhere.",
     [](Provider& p, const Value& v) -> Done {
       p.field_given = v.kind != Value::Kind::null;
       return p.field_given ? read_text(v, p.endpoint.max_tokens_field) : Done{};
     }},
    {"system_role",
     "system",
     "openai: the role of the system prompt, system or developer.",
     [](Provider& p, const Value& v) { return read_text(v, p.endpoint.system_role); }},
    {"file",
     "null",
     "scripted: the scenario file; relative to this file.",
     [](Provider& p, const Value& v) -> Done { return read_optional_text(v, p.endpoint.scenario_file); }},
};

/// What one provider needs as a whole, and the defaults that follow from its protocol.
Done complete(Provider& provider, const Value& where) {
  auto& endpoint = provider.endpoint;
  const auto missing = [&](std::string_view key) {
    return fail_at(where,
                   ErrorCode::invalid_request,
                   fmt::format("a provider with protocol {} needs '{}'", name(endpoint.protocol), key));
  };
  const auto& key = provider.api_key;
  if (!key.file.empty() + !key.env.empty() + !key.credential.empty() > 1)
    return fail_at(where,
                   ErrorCode::invalid_request,
                   "only one of api_key_file, api_key_env and api_key_credential can be set");
  if (endpoint.protocol == Protocol::scripted) {
    if (endpoint.scenario_file.empty()) return missing("file");
    return {};
  }
  if (!endpoint.scenario_file.empty())
    return fail_at(where, ErrorCode::invalid_request, "'file' belongs to protocol scripted only");
  if (endpoint.model.empty()) return missing("model");
  if (endpoint.base_url.empty()) endpoint.base_url = usual_base_url(endpoint.protocol);
  if (!provider.header_given) endpoint.key_header = usual_key_header(endpoint.protocol);
  if (!provider.field_given) endpoint.max_tokens_field = usual_max_tokens_field(endpoint.base_url);
  return {};
}

Done read_provider(const Value& value, ModelEntry& entry) {
  Provider provider;
  if (auto done = read_section<Provider>(value, provider_keys, provider); !done) return done;
  if (auto done = complete(provider, value); !done) return done;
  entry.model.providers.push_back(std::move(provider.endpoint));
  entry.api_keys.push_back(std::move(provider.api_key));
  return {};
}

// --- models ------------------------------------------------------------------------------------------------

RATCHET_ENUM(Sampling, temperature, top_p, top_k, seed)

constexpr Key<ModelEntry> model_keys[] = {
    {"context_window_tokens",
     "200000",
     "What the model takes, request and reply together.",
     [](ModelEntry& m, const Value& v) {
       return read_integer(v, 1'024, 1'000'000'000, m.model.context_window_tokens);
     }},
    {"max_output_tokens",
     "8192",
     "The longest reply that is asked for.",
     [](ModelEntry& m, const Value& v) {
       return read_integer(v, 1, 1'000'000'000, m.model.max_output_tokens);
     }},
    {"prices_usd_per_million",
     "{}",
     "US dollars for a million tokens, as decimal texts; a run pays what held at its start.",
     [](ModelEntry& m, const Value& v) { return read_section<Prices>(v, price_keys, m.model.prices); },
     [](std::string_view path, std::vector<ConfigKey>& out) {
       list_keys<Prices>(std::string(path) + ".", price_keys, out);
     }},
    {"max_concurrent",
     "256",
     "Calls under way at once; more wait in order of arrival.",
     [](ModelEntry& m, const Value& v) { return read_integer(v, 1, 100'000, m.max_concurrent); }},
    {"first_byte_timeout_ms",
     "120000",
     "How long the first byte of a reply may take.",
     [](ModelEntry& m, const Value& v) {
       return read_integer(v, 1, 3'600'000, m.model.first_byte_timeout_ms);
     }},
    {"sampling",
     "[]",
     "Which of temperature, top_p, top_k, seed the model takes; nothing else is sent.",
     [](ModelEntry& m, const Value& v) -> Done {
       std::vector<Sampling> words;
       if (auto done = read_words(v, words); !done) return done;
       for (const auto word : words)
         m.model.sampling.emplace_back(name(word));
       return {};
     }},
    {"providers",
     "",
     "In order of preference; the next one is called when the first fails.",
     [](ModelEntry& m, const Value& v) -> Done {
       auto done = read_list(v, [&](const Value& item) { return read_provider(item, m); });
       if (done && m.model.providers.empty())
         return fail_at(v, ErrorCode::invalid_request, "a model needs a provider");
       return done;
     },
     [](std::string_view path, std::vector<ConfigKey>& out) {
       list_keys<Provider>(std::string(path) + "[].", provider_keys, out);
     }},
};

Done read_model(const std::string& name, const Value& value, std::vector<ModelEntry>& out) {
  ModelEntry entry;
  if (!is_name(name)) return fail_at(value, ErrorCode::invalid_request, not_a_name(name));
  entry.model.name = name;
  if (auto done = read_section<ModelEntry>(value, model_keys, entry); !done) return done;
  if (entry.model.max_output_tokens >= entry.model.context_window_tokens)
    return fail_at(
        value, ErrorCode::invalid_request, "max_output_tokens must be below context_window_tokens");
  out.push_back(std::move(entry));
  return {};
}

}  // namespace

Done read_models(const Value& value, std::vector<ModelEntry>& out) {
  return read_map(value,
                  [&](const std::string& name, const Value& inner) { return read_model(name, inner, out); });
}

void list_models(std::string_view path, std::vector<ConfigKey>& out) {
  list_keys<ModelEntry>(std::string(path) + ".<name>.", model_keys, out);
}

}  // namespace ratchet::config
