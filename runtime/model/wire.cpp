#include "runtime/model/wire.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/json/writer.hpp"
#include "runtime/model/wire_dialects.hpp"

namespace ratchet {

std::string artifact_text(const ArtifactRef& artifact) {
  if (artifact.head.size() == artifact.bytes) return artifact.head;
  return fmt::format(
      "{}\n[These are the first {} of {} bytes. Read on with artifact_read, or look for something with "
      "artifact_search: artifact_id \"{}\".]",
      artifact.head,
      artifact.head.size(),
      artifact.bytes,
      to_string(artifact.id));
}

std::string text_of(const Block& block) {
  return block.artifact ? artifact_text(*block.artifact) : block.text;
}

bool is_image(const Block& block) {
  return block.type == BlockType::image && !block.artifact;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

void append_sampling(std::string& out, const ModelSettings& settings, std::span<const std::string> sampling) {
  const std::pair<std::string_view, const std::string*> all[] = {{"temperature", &settings.temperature},
                                                                 {"top_p", &settings.top_p},
                                                                 {"top_k", &settings.top_k},
                                                                 {"seed", &settings.seed}};
  for (const auto& [name, value] : all) {
    const bool taken = std::find(sampling.begin(), sampling.end(), name) != sampling.end();
    if (taken && !value->empty()) fmt::format_to(std::back_inserter(out), ",\"{}\":{}", name, *value);
  }
}

namespace {

bool is_portable(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

}  // namespace

std::string_view wire_id(std::string_view provider_id, std::string_view call_id) {
  constexpr std::size_t id_bytes_max = 40;  // OpenAI's limit, the lowest
  const bool portable = !provider_id.empty() && provider_id.size() <= id_bytes_max &&
                        std::all_of(provider_id.begin(), provider_id.end(), is_portable);
  return portable ? provider_id : call_id;
}

std::string wire_name(std::string_view tool) {
  constexpr std::size_t name_bytes_max = 64;
  std::string name(tool.empty() ? "unnamed" : tool.substr(0, name_bytes_max));
  std::replace_if(name.begin(), name.end(), [](char c) { return !is_portable(c); }, '_');
  return name;
}

WirePiece render_head(const ProviderConfig& provider,
                      const ModelSettings& settings,
                      std::span<const std::string> sampling,
                      std::string_view system_prompt,
                      std::span<const WireTool> tools) {
  return provider.protocol == Protocol::anthropic
             ? anthropic::render_head(provider, settings, sampling, system_prompt, tools)
             : openai::render_head(provider, settings, sampling, system_prompt, tools);
}

WirePiece render_user(Protocol protocol, const Content& content) {
  return protocol == Protocol::anthropic ? anthropic::render_user(content) : openai::render_user(content);
}

WirePiece render_assistant(const ProviderConfig& provider,
                           std::span<const ReplyBlock> content,
                           bool include_reasoning) {
  return provider.protocol == Protocol::anthropic ? anthropic::render_assistant(content, include_reasoning)
                                                  : openai::render_assistant(content);
}

WirePiece render_tool_results(Protocol protocol, std::span<const WireResult> results) {
  return protocol == Protocol::anthropic ? anthropic::render_tool_results(results)
                                         : openai::render_tool_results(results);
}

std::string render_tail(const ProviderConfig& provider,
                        std::int64_t max_tokens,
                        std::string_view late_text,
                        bool comma) {
  const bool anthropic = provider.protocol == Protocol::anthropic;
  std::string out;
  if (!late_text.empty()) {
    if (comma) out += ',';
    out += render_user(provider.protocol, text_content(std::string(late_text))).bytes;
  }
  out += "],";
  append_json_string(out, anthropic ? std::string_view("max_tokens") : provider.max_tokens_field);
  out += ':';
  append_json_number(out, max_tokens);
  out += R"(,"stream":true)";
  if (!anthropic) out += R"(,"stream_options":{"include_usage":true})";
  return out += '}';
}

std::vector<std::pair<std::string, std::string>> request_headers(const ProviderConfig& provider) {
  std::vector<std::pair<std::string, std::string>> headers = {{"content-type", "application/json"},
                                                              {"accept", "text/event-stream"}};
  if (provider.protocol == Protocol::anthropic)
    headers.emplace_back("anthropic-version", provider.api_version);
  return headers;
}

std::string endpoint_url(const ProviderConfig& provider) {
  std::string_view base = provider.base_url;
  while (base.ends_with('/'))
    base.remove_suffix(1);
  std::string_view path = "/chat/completions";
  if (provider.protocol == Protocol::anthropic) path = base.ends_with("/v1") ? "/messages" : "/v1/messages";
  return std::string(base).append(path);
}

}  // namespace ratchet
