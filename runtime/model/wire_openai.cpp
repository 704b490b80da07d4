// Requests of the OpenAI Chat Completions API.

#include <algorithm>

#include "runtime/json/writer.hpp"
#include "runtime/model/wire_dialects.hpp"

namespace ratchet::openai {

namespace {

void append_part(std::string& out, const Block& block) {
  if (is_image(block)) {
    out += R"({"type":"image_url","image_url":{"url":"data:)";
    append_json_escaped(out, block.media_type);
    out += ";base64,";
    append_json_escaped(out, block.text);
    out += "\"}}";
  } else {
    const auto text = text_of(block);
    out += R"({"type":"text","text":)";
    append_json_string(out, is_blank(text) ? nothing_said : text);
    out += '}';
  }
}

/// One text as a string, which every imitator takes; anything else as parts.
void append_content(std::string& out, const Content& content) {
  if (content.size() > 1 || (content.size() == 1 && is_image(content[0]))) {
    out += '[';
    for (const auto& block : content) {
      if (&block != &content.front()) out += ',';
      append_part(out, block);
    }
    out += ']';
  } else {
    const auto text = content.empty() ? std::string{} : text_of(content[0]);
    append_json_string(out, is_blank(text) ? nothing_said : text);
  }
}

void append_call(std::string& out, const ReplyBlock& call) {
  out += R"({"id":)";
  append_json_string(out, wire_id(call.provider_id, call.call_id));
  out += R"(,"type":"function","function":{"name":)";
  append_json_string(out, wire_name(call.tool));
  out += R"(,"arguments":)";
  append_json_string(out, sendable_args(call));
  out += "}}";
}

/// A tool message holds text only. Images follow in a user message, after all results of the turn.
std::string result_text(const WireResult& result, Content& images) {
  std::string text;
  for (const auto& block : *result.content) {
    if (!text.empty()) text += '\n';
    if (is_image(block)) {
      images.push_back(block);
      text += "[image " + std::to_string(images.size()) + " of the message after the results]";
    } else {
      text += text_of(block);
    }
  }
  return is_blank(text) ? std::string(nothing_said) : text;
}

}  // namespace

WirePiece render_head(const ProviderConfig& provider,
                      const ModelSettings& settings,
                      std::span<const std::string> sampling,
                      std::string_view system_prompt,
                      std::span<const WireTool> tools) {
  WirePiece piece;
  auto& out = piece.bytes;
  out = R"({"model":)";
  append_json_string(out, provider.model);
  append_sampling(out, settings, sampling);
  if (!tools.empty()) {
    out += R"(,"tools":[)";
    for (const auto& tool : tools) {
      if (out.back() != '[') out += ',';
      out += R"({"type":"function","function":{"name":)";
      append_json_string(out, tool.name);
      out += R"(,"description":)";
      append_json_string(out, tool.description);
      out.append(R"(,"parameters":)").append(tool.schema_json).append("}}");
    }
    out += ']';
  }
  out += R"(,"messages":[)";
  if (!is_blank(system_prompt)) {
    out += R"({"role":)";
    append_json_string(out, provider.system_role);
    out += R"(,"content":)";
    append_json_string(out, system_prompt);
    out += "},";
  }
  return piece;
}

WirePiece render_user(const Content& content) {
  WirePiece piece{R"({"role":"user","content":)", {}};
  append_content(piece.bytes, content);
  piece.bytes += '}';
  return piece;
}

WirePiece render_assistant(std::span<const ReplyBlock> content) {
  std::string text, calls;
  for (const auto& block : content) {
    if (block.type == ReplyBlockType::text) text += block.text;
    if (block.type != ReplyBlockType::call) continue;  // thoughts are not sent back
    if (!calls.empty()) calls += ',';
    append_call(calls, block);
  }
  WirePiece piece;
  auto& out = piece.bytes;
  if (is_blank(text) && calls.empty()) return piece;
  out = R"({"role":"assistant","content":)";
  if (is_blank(text)) {
    out += "null";
  } else {
    append_json_string(out, text);
  }
  if (!calls.empty()) out.append(R"(,"tool_calls":[)").append(calls).append("]");
  out += '}';
  return piece;
}

WirePiece render_tool_results(std::span<const WireResult> results) {
  WirePiece piece;
  auto& out = piece.bytes;
  Content images;
  for (const auto& result : results) {
    if (!out.empty()) out += ',';
    out += R"({"role":"tool","tool_call_id":)";
    append_json_string(out, wire_id(result.provider_id, result.call_id));
    out += R"(,"content":)";
    append_json_string(out, result_text(result, images));
    out += '}';
  }
  if (!images.empty()) out += ',' + render_user(images).bytes;
  return piece;
}

}  // namespace ratchet::openai
