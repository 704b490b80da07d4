#pragma once
// What a model costs and takes, and where it is served. The resolved configuration is pinned in
// `run.started`: a run goes on under the prices and the providers it started with. Keys are not part of it.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/enums.hpp"
#include "runtime/money.hpp"

namespace ratchet {

RATCHET_ENUM(Protocol, anthropic, openai, scripted)

/// How the key travels: `Authorization: Bearer` or `x-api-key`.
RATCHET_ENUM(KeyHeader, bearer, x_api_key)

struct ProviderConfig {
  Protocol protocol = Protocol::anthropic;
  std::string base_url;  ///< without a trailing slash
  std::string model;     ///< the provider's own name of it
  KeyHeader key_header = KeyHeader::bearer;
  std::string api_version = "2023-06-01";  ///< anthropic: the `anthropic-version` header
  std::string max_tokens_field =
      "max_completion_tokens";         ///< openai: most compatible servers take `max_tokens`
  std::string system_role = "system";  ///< openai: or `developer`
  std::string scenario_file;           ///< scripted only

  bool operator==(const ProviderConfig&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "protocol", self.protocol);
    visit(2, "base_url", self.base_url);
    visit(3, "model", self.model);
    visit(4, "key_header", self.key_header);
    visit(5, "api_version", self.api_version);
    visit(6, "max_tokens_field", self.max_tokens_field);
    visit(7, "system_role", self.system_role);
    visit(8, "scenario_file", self.scenario_file);
  }
};

/// Dollars a million tokens.
struct Prices {
  Usd input, cached_input, cache_write, output;

  bool operator==(const Prices&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "input", self.input);
    visit(2, "cached_input", self.cached_input);
    visit(3, "cache_write", self.cache_write);
    visit(4, "output", self.output);
  }
};

struct ModelConfig {
  std::string name;  ///< the name agents use
  std::int64_t context_window_tokens = 200'000;
  std::int64_t max_output_tokens = 8'192;
  Prices prices;
  std::int64_t first_byte_timeout_ms = 120'000;
  std::vector<std::string>
      sampling;  ///< which of temperature, top_p, top_k, seed it takes; nothing else is sent
  std::vector<ProviderConfig> providers;  ///< in order of preference; at least one

  bool operator==(const ModelConfig&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "name", self.name);
    visit(2, "context_window_tokens", self.context_window_tokens);
    visit(3, "max_output_tokens", self.max_output_tokens);
    visit(4, "prices", self.prices);
    visit(5, "first_byte_timeout_ms", self.first_byte_timeout_ms);
    visit(6, "sampling", self.sampling);
    visit(7, "providers", self.providers);
  }
};

/// What an agent asks of its model. Numbers stand as they were written, so that they reach the provider
/// unchanged.
struct ModelSettings {
  std::int64_t max_output_tokens = 0;           ///< 0: the model's own maximum
  std::string temperature, top_p, top_k, seed;  ///< JSON numbers; empty: not set, nothing is sent

  bool operator==(const ModelSettings&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "max_output_tokens", self.max_output_tokens);
    visit(2, "temperature", self.temperature);
    visit(3, "top_p", self.top_p);
    visit(4, "top_k", self.top_k);
    visit(5, "seed", self.seed);
  }
};

}  // namespace ratchet
