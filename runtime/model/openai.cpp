// Replies of the OpenAI Chat Completions API, and of the servers that imitate it. A streamed chunk and a
// whole message have the same members, so one reader takes both.

#include <algorithm>
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
  if (name == "stop") return ModelStop::end_turn;
  if (name == "tool_calls" || name == "tool_call" || name == "function_call") return ModelStop::tool_use;
  if (name == "length") return ModelStop::max_tokens;
  if (name == "content_filter") return ModelStop::refusal;
  return ModelStop::other;
}

/// One element of `tool_calls`: a call, or a piece of one. `arguments` is still escaped.
struct CallPiece {
  std::int64_t index = -1;
  std::string id, name;
  std::string_view arguments;
  std::string whole_arguments;  ///< of servers that send an object where a string should be
};

char edge(std::string_view text, bool first) {
  constexpr std::string_view space = " \t\r\n";
  const auto at = first ? text.find_first_not_of(space) : text.find_last_not_of(space);
  return at == std::string_view::npos ? '\0' : text[at];
}

class OpenaiParser final : public BasicReplyParser {
 private:
  void reset_dialect() override {
    reasoning_key_.clear();
    batch_ = 0;
  }

  void read_event(std::string_view type, std::string& data) override {
    if (data == "[DONE]") return done();
    if (type == "error") {
      reply_.error = read_provider_error(data);
      return;
    }
    const auto wrong = ondemand::with_root(data, [&](Object& root) { return chunk(data, root); });
    if (!wrong.empty() && reply_.broken.empty()) reply_.broken = wrong;
  }

  void read_body(std::string& body) override {
    const auto wrong = ondemand::with_root(body, [&](Object& root) { return chunk(body, root); });
    if (!wrong.empty() && reply_.broken.empty()) reply_.broken = wrong;
    if (!reply_.stop && reply_.produced()) reply_.stop = ModelStop::other;
    if (!reply_.stop && !reply_.error) reply_.error = read_provider_error(body);
  }

  void done() {
    reply_.whole = true;
    // Without any reason to stop it is a reply only if it says something.
    if (!reply_.stop && reply_.produced()) reply_.stop = ModelStop::other;
  }

  error_code chunk(const std::string& data, Object& root) {
    return ondemand::each_member(root, [&](std::string_view key, Value value) {
      if (key == "choices")
        return ondemand::each_object(value, [&](Object& object) { return choice(object); });
      if (key == "usage") return take_usage(value);
      if (key == "error" && !ondemand::is_null(value)) reply_.error = read_provider_error(data);
      return SUCCESS;
    });
  }

  error_code choice(Object& object) {
    bool ours = true;
    return ondemand::each_member(object, [&](std::string_view key, Value value) {
      if (key == "index") ours = ondemand::count_or(value, 0) == 0;  // we ask for one choice
      if (!ours) return SUCCESS;
      if (key == "delta" || key == "message") return message(value);
      if (key == "finish_reason") {
        // Some servers send "" with every chunk; it says nothing.
        if (const auto name = ondemand::escaped(value); name && !name->empty())
          reply_.stop = stop_named(*name);
      }
      if (key == "usage") return take_usage(value);
      return SUCCESS;
    });
  }

  error_code message(Value& value) {
    return ondemand::each_member(value, [&](std::string_view key, Value member) {
      if (key == "content") return content(member);
      if (key == "tool_calls") return calls(member);
      if (key == "function_call") return legacy_call(member);
      if (key == "refusal") return refusal(member);
      if (key == "reasoning_content" || key == "reasoning") return reasoning(key, member);
      return SUCCESS;
    });
  }

  /// A string, null, or a list of parts.
  error_code content(Value& value) {
    if (const auto text = ondemand::escaped(value)) {
      if (!text->empty()) show_text(reply_.last_or_new(ReplyBlockType::text), *text);
      return SUCCESS;
    }
    return ondemand::each_object(value, [&](Object& part) {
      return ondemand::each_member(
          part, [&](std::string_view key, Value text) { return key == "text" ? content(text) : SUCCESS; });
    });
  }

  error_code refusal(Value& value) {
    const auto text = ondemand::escaped(value);
    if (!text || text->empty()) return SUCCESS;
    reply_.refused = true;
    return content(value);
  }

  error_code reasoning(std::string_view key, Value& value) {
    const auto text = ondemand::escaped(value);
    if (!text || text->empty()) return SUCCESS;
    // Servers that send both names send the same text under both.
    if (reasoning_key_.empty()) reasoning_key_ = key;
    if (reasoning_key_ != key) return SUCCESS;
    append_unescaped(reply_.last_or_new(ReplyBlockType::reasoning).text, *text);
    return SUCCESS;
  }

  /// What is said again replaces what was said before: some servers count up with every chunk.
  error_code take_usage(Value& value) {
    bool any = false;
    ReportedUsage said;
    const auto error = ondemand::each_member(value, [&](std::string_view key, Value member) {
      any = true;
      if (key == "prompt_tokens") said.input = ondemand::count_or(member, -1);
      if (key == "completion_tokens") said.output = ondemand::count_or(member, -1);
      return key == "prompt_tokens_details" ? take_details(member, said) : SUCCESS;
    });
    reply_.usage.merge(said);
    reply_.usage_final = reply_.usage_final || any;
    return error;
  }

  static error_code take_details(Value& value, ReportedUsage& said) {
    return ondemand::each_member(value, [&](std::string_view key, Value member) {
      if (key == "cached_tokens") said.cached = ondemand::count_or(member, -1);
      if (key == "cache_write_tokens") said.cache_write = ondemand::count_or(member, -1);
      return SUCCESS;
    });
  }

  error_code calls(Value& value) {
    ++batch_;
    return ondemand::each_object(value, [&](Object& object) {
      CallPiece piece;
      const auto error = ondemand::each_member(object, [&](std::string_view key, Value member) {
        if (key == "index") piece.index = ondemand::count_or(member, -1);
        if (key == "id") append_unescaped(piece.id, ondemand::escaped(member).value_or(""));
        return key == "function" ? function(member, piece) : SUCCESS;
      });
      add(piece);
      return error;
    });
  }

  error_code legacy_call(Value& value) {
    ++batch_;
    CallPiece piece;
    const auto error = function(value, piece);
    add(piece);
    return error;
  }

  static error_code function(Value& value, CallPiece& piece) {
    return ondemand::each_member(value, [&](std::string_view key, Value member) {
      const auto text = ondemand::escaped(member);
      if (key == "name") append_unescaped(piece.name, text.value_or(""));
      if (key != "arguments") return SUCCESS;
      if (text) piece.arguments = *text;
      return text || ondemand::is_null(member) ? SUCCESS : ondemand::raw_value(member, piece.whole_arguments);
    });
  }

  void add(const CallPiece& piece) {
    if (piece.id.empty() && piece.name.empty() && piece.arguments.empty() && piece.whole_arguments.empty())
      return;
    auto* begun = begun_call(piece);
    auto& call = begun && continues(*begun, piece) ? *begun : reply_.open(ReplyBlockType::call, piece.index);
    call.batch = batch_;
    if (call.id.empty()) call.id = piece.id;  // the first that is not empty counts; some repeat it
    if (call.name.empty()) call.name = piece.name;
    append_unescaped(call.text, piece.arguments);
    if (call.whole.empty()) call.whole = piece.whole_arguments;
  }

  /// The call that a piece may belong to: by index, else by id, else the last one.
  DraftBlock* begun_call(const CallPiece& piece) {
    auto& blocks = reply_.blocks();
    const auto found = std::find_if(blocks.rbegin(), blocks.rend(), [&](const DraftBlock& block) {
      if (block.type != ReplyBlockType::call) return false;
      if (piece.index >= 0) return block.index == piece.index;
      return piece.id.empty() || block.id == piece.id;
    });
    return found == blocks.rend() ? nullptr : &*found;
  }

  /// Some servers give every call the index 0, or no index, and some no id either.
  bool continues(const DraftBlock& call, const CallPiece& piece) const {
    if (!piece.id.empty()) return call.id.empty() || call.id == piece.id;
    if (call.batch == batch_) return false;  // two elements of one list are two calls
    if (piece.name.empty() || call.name.empty()) return true;
    if (piece.name != call.name) return false;
    const bool begins_anew = edge(piece.arguments, true) == '{' && edge(call.text, false) == '}';
    return !begins_anew || !canonical_object(call.text);
  }

  std::string reasoning_key_;
  std::uint32_t batch_ = 0;  // counts the lists of calls
};

}  // namespace

std::unique_ptr<ReplyParser> make_openai_parser() {
  return std::make_unique<OpenaiParser>();
}

std::unique_ptr<ReplyParser> make_reply_parser(Protocol protocol) {
  return protocol == Protocol::anthropic ? make_anthropic_parser() : make_openai_parser();
}

}  // namespace ratchet
