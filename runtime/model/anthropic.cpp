// Replies of the Anthropic Messages API, and of the servers that imitate it.

#include <string>

#include "runtime/json/canonical.hpp"
#include "runtime/json/unescape.hpp"
#include "runtime/model/dialects.hpp"
#include "runtime/model/ondemand.hpp"
#include "runtime/model/reply_base.hpp"

namespace ratchet {

namespace {

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

/// A content block: all of it in a body, its beginning in a stream. Texts are still escaped.
struct BlockPiece {
  bool given = false;
  std::string_view type, id, name, text, thinking, signature;
  std::string input;  ///< as it stands
  std::string raw;    ///< all of it, where it has to go back as it came
};

/// What changes with an event of a stream. Texts are still escaped.
struct DeltaPiece {
  std::string_view text, partial_json, thinking, signature, stop_reason;
};

/// All that an event says that we listen to. Its members may come in any order, so they are gathered first.
struct EventPiece {
  std::string_view type;
  std::int64_t index = -1;
  BlockPiece block;
  DeltaPiece delta;
  bool error = false;
};

class AnthropicParser final : public BasicReplyParser {
 public:
  AnthropicParser() { reset_dialect(); }

 private:
  void reset_dialect() override { reply_.usage.input_excludes_cache = true; }

  void read_event(std::string_view type, std::string& data) override {
    if (data == "[DONE]") return;  // some imitators end with it; `message_stop` came before, or it did not
    EventPiece event;
    const auto wrong = ondemand::with_root(data, [&](Object& root) { return gather(root, event); });
    if (!wrong.empty()) {
      reply_.broken = wrong;
      return;
    }
    // The type in the data counts: imitators leave out the `event:` line.
    take(event.type.empty() ? type : event.type, event, data);
  }

  void read_body(std::string& body) override {
    const auto wrong = ondemand::with_root(body, [&](Object& root) { return message(body, root); });
    if (!wrong.empty() && reply_.broken.empty()) reply_.broken = wrong;
  }

  // --- streams

  error_code gather(Object& root, EventPiece& event) {
    return ondemand::each_member(root, [&](std::string_view key, Value value) {
      if (key == "type") event.type = ondemand::escaped(value).value_or("");
      if (key == "index") event.index = ondemand::count_or(value, -1);
      if (key == "error") event.error = !ondemand::is_null(value);
      if (key == "delta") return gather(value, event.delta);
      if (key == "usage") return take_usage(value, true);
      if (key == "message") return message_start(value);
      if (key == "content_block") return gather_block(value, event.block);
      return SUCCESS;
    });
  }

  static error_code gather(Value& value, DeltaPiece& delta) {
    return ondemand::each_member(value, [&](std::string_view key, Value member) {
      const auto text = ondemand::escaped(member);
      if (!text) return SUCCESS;
      if (key == "text") delta.text = *text;
      if (key == "partial_json") delta.partial_json = *text;
      if (key == "thinking") delta.thinking = *text;
      if (key == "signature") delta.signature = *text;
      if (key == "stop_reason") delta.stop_reason = *text;
      return SUCCESS;
    });
  }

  static error_code gather_block(Value& value, BlockPiece& block) {
    Object object;
    const auto error = value.get_object().get(object);
    if (error) return error == simdjson::INCORRECT_TYPE ? SUCCESS : error;
    return gather_block(object, block);
  }

  static error_code gather_block(Object& object, BlockPiece& block) {
    block.given = true;
    const auto error = ondemand::each_member(object, [&](std::string_view key, Value value) {
      if (key == "input" && !ondemand::is_null(value)) return ondemand::raw_value(value, block.input);
      const auto text = ondemand::escaped(value);
      if (!text) return SUCCESS;
      if (key == "type") block.type = *text;
      if (key == "id") block.id = *text;
      if (key == "name") block.name = *text;
      if (key == "text") block.text = *text;
      if (key == "thinking") block.thinking = *text;
      if (key == "signature") block.signature = *text;
      return SUCCESS;
    });
    if (error || block.type == "text" || block.type == "tool_use") return error;
    return ondemand::raw_json(object, block.raw);
  }

  error_code message_start(Value& value) {
    return ondemand::each_member(value, [&](std::string_view key, Value member) {
      return key == "usage" ? take_usage(member, false) : SUCCESS;
    });
  }

  /// Cumulative: what is said again replaces what was said before. Only the last word, `final`, knows what
  /// the reply cost.
  error_code take_usage(Value& value, bool final) {
    ReportedUsage said;
    bool any = false;
    const auto error = ondemand::each_member(value, [&](std::string_view key, Value count) {
      any = true;
      if (key == "input_tokens") said.input = ondemand::count_or(count, -1);
      if (key == "output_tokens") said.output = ondemand::count_or(count, -1);
      if (key == "cache_read_input_tokens") said.cached = ondemand::count_or(count, -1);
      if (key == "cache_creation_input_tokens") said.cache_write = ondemand::count_or(count, -1);
      return SUCCESS;
    });
    reply_.usage.merge(said);
    reply_.usage_final = reply_.usage_final || (final && any);
    return error;
  }

  void take(std::string_view type, const EventPiece& event, const std::string& data) {
    if (type == "content_block_delta") {
      take_delta(event.delta, event.index);
    } else if (type == "content_block_start") {
      if (event.block.given) take_block(event.block, event.index, true);
    } else if (type == "message_delta") {
      if (!event.delta.stop_reason.empty()) reply_.stop = stop_named(event.delta.stop_reason);
    } else if (type == "message_stop") {
      reply_.whole = true;
      if (!reply_.stop) reply_.stop = ModelStop::other;
    } else if (type == "error" || event.error) {
      reply_.error = read_provider_error(data);
    }  // message_start, content_block_stop, ping, and what is invented later
  }

  void take_delta(const DeltaPiece& delta, std::int64_t index) {
    if (!delta.text.empty()) show_text(block_of(ReplyBlockType::text, index), delta.text);
    if (!delta.partial_json.empty())
      append_unescaped(block_of(ReplyBlockType::call, index).text, delta.partial_json);
    if (!delta.thinking.empty())
      append_unescaped(block_of(ReplyBlockType::reasoning, index).text, delta.thinking);
    if (!delta.signature.empty())
      append_unescaped(block_of(ReplyBlockType::reasoning, index).signature, delta.signature);
  }

  /// The block that a delta belongs to; one that was never begun begins now.
  DraftBlock& block_of(ReplyBlockType type, std::int64_t index) {
    auto* block = reply_.find(index);
    if (block && block->type == type) return *block;
    auto& begun = reply_.open(type, index);
    if (type == ReplyBlockType::reasoning) begun.whole = "{}";
    return begun;
  }

  // --- blocks

  void take_block(const BlockPiece& block, std::int64_t index, bool pieces_follow) {
    if (block.type == "text") {
      show_text(reply_.open(ReplyBlockType::text, index), block.text);
    } else if (block.type == "tool_use") {
      auto& draft = reply_.open(ReplyBlockType::call, index);
      append_unescaped(draft.id, block.id);
      append_unescaped(draft.name, block.name);
      draft.whole = block.input;  // all of a body's arguments, and of a stream's where no pieces follow
    } else {
      take_opaque(block, reply_.open(ReplyBlockType::reasoning, index), pieces_follow);
    }
  }

  /// Thoughts, and what only the provider understands: they go back to it as they came.
  void take_opaque(const BlockPiece& block, DraftBlock& draft, bool pieces_follow) {
    if (const auto valid = canonical_object(block.raw); !valid) {
      reply_.broken = valid.error().text;
      return;
    }
    draft.whole = block.raw;
    if (!pieces_follow || block.type != "thinking") return;
    append_unescaped(draft.text, block.thinking);
    append_unescaped(draft.signature, block.signature);
  }

  // --- replies that are not streamed

  error_code message(const std::string& body, Object& root) {
    bool is_message = false;
    const auto error = ondemand::each_member(root, [&](std::string_view key, Value value) {
      if (key == "error" && !ondemand::is_null(value)) reply_.error = read_provider_error(body);
      if (key == "stop_reason") reply_.stop = stop_named(ondemand::escaped(value).value_or(""));
      if (key == "usage") return take_usage(value, true);
      if (key != "content") return SUCCESS;
      is_message = true;
      return ondemand::each_object(value, [&](Object& object) {
        BlockPiece block;
        const auto broken = gather_block(object, block);
        if (!broken) take_block(block, -1, false);
        return broken;
      });
    });
    if (is_message && !reply_.stop) reply_.stop = ModelStop::other;
    if (!error && !is_message && !reply_.error) reply_.error = read_provider_error(body);
    return error;
  }
};

}  // namespace

std::unique_ptr<ReplyParser> make_anthropic_parser() {
  return std::make_unique<AnthropicParser>();
}

}  // namespace ratchet
