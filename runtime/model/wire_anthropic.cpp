// Requests of the Anthropic Messages API.

#include "runtime/json/writer.hpp"
#include "runtime/model/wire_dialects.hpp"

namespace ratchet::anthropic {

namespace {

/// Appends a content block and returns where a cache mark may be inserted into it.
std::size_t append_block(std::string& out, const Block& block) {
  if (is_image(block)) {
    out += R"({"type":"image","source":{"type":"base64","media_type":)";
    append_json_string(out, block.media_type);
    out += R"(,"data":)";
    append_json_string(out, block.text);
    out += '}';
  } else {
    const auto text = text_of(block);
    out += R"({"type":"text","text":)";
    append_json_string(out, is_blank(text) ? nothing_said : text);
  }
  const auto mark = out.size();
  out += '}';
  return mark;
}

/// Appends the blocks as a list and returns the mark of the last one.
std::size_t append_blocks(std::string& out, const Content& content) {
  static const Content nothing = text_content({});
  std::size_t mark = 0;
  out += '[';
  for (const auto& block : content.empty() ? nothing : content) {
    if (out.back() != '[') out += ',';
    mark = append_block(out, block);
  }
  out += ']';
  return mark;
}

/// Results of one text are written as a string: every imitator takes that.
void append_result_content(std::string& out, const Content& content) {
  if (content.size() > 1 || (content.size() == 1 && is_image(content[0]))) {
    append_blocks(out, content);
  } else {
    const auto text = content.empty() ? std::string{} : text_of(content[0]);
    append_json_string(out, is_blank(text) ? nothing_said : text);
  }
}

void append_assistant_block(std::string& out, const ReplyBlock& block) {
  switch (block.type) {
    case ReplyBlockType::text:
      out += R"({"type":"text","text":)";
      append_json_string(out, block.text);
      out += '}';
      break;
    case ReplyBlockType::call:
      out += R"({"type":"tool_use","id":)";
      append_json_string(out, wire_id(block.provider_id, block.call_id));
      out += R"(,"name":)";
      append_json_string(out, wire_name(block.tool));
      out.append(R"(,"input":)").append(sendable_args(block)).append("}");
      break;
    case ReplyBlockType::reasoning:
      out += block.text;
      break;
  }
}

bool is_sent(const ReplyBlock& block, bool include_reasoning) {
  switch (block.type) {
    case ReplyBlockType::text:
      return !is_blank(block.text);  // refused by the API, and nothing is lost
    case ReplyBlockType::call:
      return true;
    // A Chat server's thoughts are a string and have no place here.
    case ReplyBlockType::reasoning:
      return include_reasoning && block.text.starts_with('{');
  }
  return false;
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
      out += R"({"name":)";
      append_json_string(out, tool.name);
      out += R"(,"description":)";
      append_json_string(out, tool.description);
      out.append(R"(,"input_schema":)").append(tool.schema_json).append("}");
    }
    piece.marks.push_back(out.size() - 1);
    out += ']';
  }
  if (!is_blank(system_prompt)) {
    out += R"(,"system":[{"type":"text","text":)";
    append_json_string(out, system_prompt);
    piece.marks.push_back(out.size());
    out += "}]";
  }
  out += R"(,"messages":[)";
  return piece;
}

WirePiece render_user(const Content& content) {
  WirePiece piece{R"({"role":"user","content":)", {}};
  piece.marks.push_back(append_blocks(piece.bytes, content));
  piece.bytes += '}';
  return piece;
}

WirePiece render_assistant(std::span<const ReplyBlock> content, bool include_reasoning) {
  WirePiece piece;
  for (const auto& block : content) {
    if (!is_sent(block, include_reasoning)) continue;
    piece.bytes += piece.bytes.empty() ? R"({"role":"assistant","content":[)" : ",";
    append_assistant_block(piece.bytes, block);
  }
  if (!piece.bytes.empty()) piece.bytes += "]}";
  return piece;
}

WirePiece render_tool_results(std::span<const WireResult> results) {
  WirePiece piece;
  auto& out = piece.bytes;
  if (results.empty()) return piece;
  out = R"({"role":"user","content":[)";
  for (const auto& result : results) {
    if (out.back() != '[') out += ',';
    out += R"({"type":"tool_result","tool_use_id":)";
    append_json_string(out, wire_id(result.provider_id, result.call_id));
    out += R"(,"content":)";
    append_result_content(out, *result.content);
    if (result.is_error) out += R"(,"is_error":true)";
    out += '}';
  }
  piece.marks.push_back(out.size() - 1);
  out += "]}";
  return piece;
}

}  // namespace ratchet::anthropic
