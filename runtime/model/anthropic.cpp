// Replies of the Anthropic Messages API, and of the servers that imitate it.

#include <string>

#include "runtime/json/canonical.hpp"
#include "runtime/json/unescape.hpp"
#include "runtime/model/dialects.hpp"
#include "runtime/model/ondemand.hpp"
#include "runtime/model/reply_base.hpp"

namespace ratchet {

namespace {

using ondemand::Extent;
using ondemand::Object;
using ondemand::Value;
using simdjson::error_code;
using simdjson::SUCCESS;

ModelStop stop_named(std::string_view name) {
  if (name == "end_turn" || name == "stop_sequence") return ModelStop::end_turn;
  if (name == "tool_use") return ModelStop::tool_use;
  if (name == "max_tokens") return ModelStop::max_tokens;
  if (name == "pause_turn") return ModelStop::pause_turn;
  if (name == "refusal") return ModelStop::refusal;
  if (name == "model_context_window_exceeded") return ModelStop::context_overflow;
  return ModelStop::other;
}

class AnthropicParser final : public BasicReplyParser {
 public:
  AnthropicParser() { reset_dialect(); }

 private:
  void reset_dialect() override { reply_.usage.input_excludes_cache = true; }

  void read_event(std::string_view type, std::string& data) override {
    if (data == "[DONE]") return;  // some imitators end with it; `message_stop` came before, or it did not
    const auto wrong =
        ondemand::with_root(data, Extent::parts, [&](Object& root) { return event(type, data, root); });
    if (!wrong.empty() && reply_.broken.empty()) reply_.broken = wrong;
  }

  void read_body(std::string& body) override {
    const auto wrong =
        ondemand::with_root(body, Extent::whole, [&](Object& root) { return message(body, root); });
    if (!wrong.empty() && reply_.broken.empty()) reply_.broken = wrong;
    reply_.whole = true;
  }

  error_code event(std::string_view type, const std::string& data, Object& root) {
    // The type in the data counts: imitators leave out the `event:` line.
    Value value;
    if (!root["type"].get(value))
      if (const auto named = ondemand::escaped(value)) type = *named;
    if (type == "content_block_delta") return block_delta(root);
    if (type == "content_block_start") return block_start(root);
    if (type == "message_start") return message_start(root);
    if (type == "message_delta") return message_delta(root);
    if (type == "message_stop") {
      reply_.whole = true;
      if (!reply_.stop) reply_.stop = ModelStop::other;
    } else if (type == "error" || (!root["error"].get(value) && !ondemand::is_null(value))) {
      reply_.error = read_provider_error(data);
    }
    return SUCCESS;  // content_block_stop, ping, and what is invented later
  }

  error_code message_start(Object& root) {
    Object message;
    Value usage;
    if (root["message"].get_object().get(message) || message["usage"].get(usage)) return SUCCESS;
    return take_usage(usage);
  }

  error_code message_delta(Object& root) {
    Object delta;
    Value value;
    if (!root["delta"].get_object().get(delta) && !delta["stop_reason"].get(value))
      if (const auto name = ondemand::escaped(value)) reply_.stop = stop_named(*name);
    if (root["usage"].get(value)) return SUCCESS;
    if (const auto error = take_usage(value)) return error;
    reply_.usage_final = true;
    return SUCCESS;
  }

  /// Cumulative: what is said again replaces what was said before.
  error_code take_usage(Value& value) {
    Object object;
    if (value.get_object().get(object)) return SUCCESS;
    ReportedUsage said;
    const auto error = ondemand::each_member(object, [&](std::string_view key, Value count) {
      if (key == "input_tokens") said.input = ondemand::count_or(count, -1);
      if (key == "output_tokens") said.output = ondemand::count_or(count, -1);
      if (key == "cache_read_input_tokens") said.cached = ondemand::count_or(count, -1);
      if (key == "cache_creation_input_tokens") said.cache_write = ondemand::count_or(count, -1);
      return SUCCESS;
    });
    reply_.usage.merge(said);
    return error;
  }

  error_code block_start(Object& root) {
    Value value;
    const auto index = root["index"].get(value) ? -1 : ondemand::count_or(value, -1);
    Object block;
    if (root["content_block"].get_object().get(block)) return SUCCESS;
    return take_block(block, index);
  }

  error_code block_delta(Object& root) {
    Value value;
    const auto index = root["index"].get(value) ? -1 : ondemand::count_or(value, -1);
    Object delta;
    if (root["delta"].get_object().get(delta)) return SUCCESS;
    return ondemand::each_member(delta, [&](std::string_view key, Value piece) {
      const auto text = ondemand::escaped(piece);
      if (!text || text->empty()) return SUCCESS;
      if (key == "text") {
        show_text(block_of(ReplyBlockType::text, index), *text);
      } else if (key == "partial_json") {
        append_unescaped(block_of(ReplyBlockType::call, index).text, *text);
      } else if (key == "thinking") {
        append_unescaped(block_of(ReplyBlockType::reasoning, index).text, *text);
      } else if (key == "signature") {
        append_unescaped(block_of(ReplyBlockType::reasoning, index).signature, *text);
      }
      return SUCCESS;
    });
  }

  /// The block that a delta belongs to; one that was never begun begins now.
  DraftBlock& block_of(ReplyBlockType type, std::int64_t index) {
    auto* block = reply_.find(index);
    if (block && block->type == type) return *block;
    auto& begun = reply_.open(type, index);
    if (type == ReplyBlockType::reasoning) begun.whole = "{}";
    return begun;
  }

  error_code take_block(Object& block, std::int64_t index) {
    Value value;
    std::string_view type;
    if (!block["type"].get(value)) type = ondemand::escaped(value).value_or("");
    if (type == "text") return text_block(block, index);
    if (type == "tool_use") return call_block(block, index);
    // Thoughts, and what only the provider understands, go back to it as they came.
    auto& draft = reply_.open(ReplyBlockType::reasoning, index);
    if (type == "thinking" && index >= 0) begun_thoughts(block, draft);
    if (const auto error = ondemand::raw_json(block, draft.whole)) return error;
    if (const auto valid = canonical_object(draft.whole); !valid) reply_.broken = valid.error().text;
    return SUCCESS;
  }

  /// What the first event of a streamed block holds already; pieces follow.
  static void begun_thoughts(Object& block, DraftBlock& draft) {
    Value value;
    if (!block["thinking"].get(value)) append_unescaped(draft.text, ondemand::escaped(value).value_or(""));
    if (!block["signature"].get(value))
      append_unescaped(draft.signature, ondemand::escaped(value).value_or(""));
  }

  error_code text_block(Object& block, std::int64_t index) {
    auto& draft = reply_.open(ReplyBlockType::text, index);
    Value value;
    if (block["text"].get(value)) return SUCCESS;
    if (const auto text = ondemand::escaped(value)) show_text(draft, *text);
    return SUCCESS;
  }

  error_code call_block(Object& block, std::int64_t index) {
    auto& draft = reply_.open(ReplyBlockType::call, index);
    if (const auto error = block.reset().error()) return error;
    return ondemand::each_member(block, [&](std::string_view key, Value value) {
      const auto text = ondemand::escaped(value);
      if (key == "id" && text) append_unescaped(draft.id, *text);
      if (key == "name" && text) append_unescaped(draft.name, *text);
      // All of a body's arguments, and of a stream's where no pieces follow.
      return key == "input" && !ondemand::is_null(value) ? ondemand::raw_value(value, draft.whole) : SUCCESS;
    });
  }

  /// A reply that was not streamed.
  error_code message(const std::string& body, Object& root) {
    bool is_message = false;
    const auto error = ondemand::each_member(root, [&](std::string_view key, Value value) {
      if (key == "error" && !ondemand::is_null(value)) {
        reply_.error = read_provider_error(body);
      } else if (key == "stop_reason") {
        const auto name = ondemand::escaped(value);
        reply_.stop = name ? stop_named(*name) : ModelStop::other;
      } else if (key == "usage") {
        reply_.usage_final = true;
        return take_usage(value);
      } else if (key == "content") {
        is_message = true;
        return ondemand::each_object(value, [&](Object& block) { return take_block(block, -1); });
      }
      return SUCCESS;
    });
    if (is_message && !reply_.stop) reply_.stop = ModelStop::other;
    if (!is_message && !reply_.error) reply_.error = read_provider_error(body);
    return error;
  }
};

}  // namespace

std::unique_ptr<ReplyParser> make_anthropic_parser() {
  return std::make_unique<AnthropicParser>();
}

}  // namespace ratchet
