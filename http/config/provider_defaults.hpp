#pragma once
// What a provider usually takes, by protocol and address, where the configuration does not say.

#include <string_view>

#include "runtime/model/config.hpp"

namespace ratchet::config {

constexpr std::string_view usual_base_url(Protocol protocol) {
  return protocol == Protocol::anthropic ? "https://api.anthropic.com" : "https://api.openai.com/v1";
}

/// Anthropic and the gateways before it read `x-api-key`; everybody else reads a bearer token.
constexpr KeyHeader usual_key_header(Protocol protocol) {
  return protocol == Protocol::anthropic ? KeyHeader::x_api_key : KeyHeader::bearer;
}

/// OpenAI deprecated `max_tokens`; the servers that are compatible with it document that one, and some ignore
/// the other, which would leave a reply without a bound.
constexpr std::string_view usual_max_tokens_field(std::string_view base_url) {
  return base_url.starts_with("https://api.openai.com") ? "max_completion_tokens" : "max_tokens";
}

}  // namespace ratchet::config
