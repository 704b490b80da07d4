#include "runtime/model/reply_builder.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/json/canonical.hpp"
#include "runtime/json/unescape.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/json/writer.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

void make_valid(std::string& text) {
  if (!is_valid_utf8(text)) text = sanitize_utf8(text);
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

/// The provider's own JSON of a reasoning block. Pieces are put together as the provider would have sent them
/// whole; Anthropic compares text and signature byte by byte when they come back.
std::string reasoning_json(DraftBlock& block) {
  if (block.text.empty() && block.signature.empty()) return std::move(block.whole);
  std::string out;
  if (block.whole.empty()) {  // a Chat server's thoughts: a string, never sent back
    append_json_string(out, block.text);
    return out;
  }
  out = R"({"type":"thinking","thinking":)";
  append_json_string(out, block.text);
  out += R"(,"signature":)";
  append_json_string(out, block.signature);
  return out += '}';
}

void judge_arguments(DraftBlock& draft, ReplyBlock& block) {
  auto& said = is_blank(draft.text) ? draft.whole : draft.text;
  if (said.empty()) said = "{}";
  make_valid(said);
  if (auto canonical = canonical_object(said)) {
    block.args = std::move(*canonical);
  } else {
    block.args = std::move(said);
    block.args_error = "the arguments are not one JSON object: " + canonical.error().text;
  }
}

ReplyBlock block_of(const DraftBlock& draft, std::string text) {
  ReplyBlock block;
  block.type = draft.type;
  block.text = std::move(text);
  return block;
}

/// The `number`-th call, after `before`.
ReplyBlock call_of(DraftBlock& draft, const std::vector<ReplyBlock>& before, std::size_t number) {
  auto block = block_of(draft, {});
  make_valid(draft.id);
  make_valid(draft.name);
  block.tool = std::move(draft.name);
  const bool id_is_taken = std::any_of(before.begin(), before.end(), [&](const ReplyBlock& other) {
    return other.type == ReplyBlockType::call && other.provider_id == draft.id;
  });
  if (!id_is_taken) block.provider_id = std::move(draft.id);
  judge_arguments(draft, block);
  if (number > limits::calls_per_reply_max && block.args_error.empty())
    block.args_error = fmt::format("only the first {} calls of a reply are taken, this is number {}",
                                   limits::calls_per_reply_max,
                                   number);
  return block;
}

/// What the content says about how the reply ended, whatever the provider calls it.
ModelStop judged_stop(ModelStop stop, bool has_text, bool has_calls) {
  switch (stop) {
    case ModelStop::max_tokens:
    case ModelStop::refusal:
    case ModelStop::context_overflow:
      return stop;
    case ModelStop::pause_turn:
      return has_calls ? ModelStop::tool_use : stop;
    case ModelStop::tool_use:
    case ModelStop::other:
      if (!has_calls) return has_text ? ModelStop::end_turn : ModelStop::other;
      return ModelStop::tool_use;
    case ModelStop::end_turn:
      return has_calls ? ModelStop::tool_use : stop;
  }
  return stop;
}

bool cuts_off(ModelStop stop) {
  return stop == ModelStop::max_tokens || stop == ModelStop::refusal || stop == ModelStop::context_overflow;
}

}  // namespace

void ReportedUsage::merge(const ReportedUsage& later) {
  const auto set = [](std::int64_t& mine, std::int64_t theirs) {
    if (theirs >= 0) mine = theirs;
  };
  set(input, later.input);
  set(cached, later.cached);
  set(cache_write, later.cache_write);
  set(output, later.output);
}

Usage ReportedUsage::total() const {
  const auto or_zero = [](std::int64_t n) { return std::max<std::int64_t>(n, 0); };
  Usage usage{or_zero(input), or_zero(cached), or_zero(cache_write), or_zero(output)};
  if (input_excludes_cache) {
    usage.input += usage.cached_input + usage.cache_write;
  } else {  // a part is never more than the whole, or a price could become negative
    usage.cached_input = std::min(usage.cached_input, usage.input);
    usage.cache_write = std::min(usage.cache_write, usage.input - usage.cached_input);
  }
  return usage;
}

void ReplyBuilder::reset() {
  usage = {};
  usage_final = false;
  stop.reset();
  refused = false;
  whole = false;
  error.reset();
  broken.clear();
  blocks_.clear();
  shown_block_ = 0;
  shown_base_ = 0;
  shown_bytes_ = 0;
}

DraftBlock& ReplyBuilder::open(ReplyBlockType type, std::int64_t index) {
  if (blocks_.size() == limits::reply_blocks_max) {
    broken = fmt::format("more than {} blocks", limits::reply_blocks_max);
    return blocks_.back();
  }
  auto& block = blocks_.emplace_back();
  block.type = type;
  block.index = index;
  return block;
}

DraftBlock* ReplyBuilder::find(std::int64_t index) {
  const auto found = std::find_if(
      blocks_.rbegin(), blocks_.rend(), [&](const DraftBlock& block) { return block.index == index; });
  return found == blocks_.rend() ? nullptr : &*found;
}

DraftBlock& ReplyBuilder::last_or_new(ReplyBlockType type) {
  return !blocks_.empty() && blocks_.back().type == type ? blocks_.back() : open(type);
}

void ReplyBuilder::add_text(DraftBlock& block,
                            std::string_view escaped,
                            const ReplyParser::OnDelta& on_delta) {
  const auto place = static_cast<std::size_t>(&block - blocks_.data());
  const auto before = block.text.size();
  append_unescaped(block.text, escaped);
  if (place < shown_block_) {  // an older block grows: not shown, its bytes still count
    shown_base_ += block.text.size() - before;
    return;
  }
  if (place > shown_block_) {
    if (blocks_[shown_block_].type == ReplyBlockType::text) shown_base_ += blocks_[shown_block_].text.size();
    shown_block_ = place;
    shown_bytes_ = 0;
  }
  show(block, on_delta);
}

void ReplyBuilder::show(DraftBlock& block, const ReplyParser::OnDelta& on_delta) {
  auto piece = std::string_view(block.text).substr(shown_bytes_);
  if (ends_with_high_surrogate(piece)) piece.remove_suffix(3);  // its other half may come
  if (piece.empty()) return;
  const auto index = shown_base_ + shown_bytes_;
  shown_bytes_ += piece.size();
  if (!on_delta) return;
  // A surrogate and U+FFFD take three bytes both, so offsets hold.
  if (is_valid_utf8(piece)) {
    on_delta(index, piece);
  } else {
    on_delta(index, sanitize_utf8(piece));
  }
}

ModelReply ReplyBuilder::build() {
  ModelReply reply;
  if (usage_final && usage.input >= 0 && usage.output >= 0) reply.usage = usage.total();
  reply.usage_reported = reply.usage.total() > 0;
  const auto said = refused ? ModelStop::refusal : *stop;
  bool has_text = false;
  std::size_t calls = 0;
  reply.content.reserve(blocks_.size());
  for (auto& draft : blocks_) {
    make_valid(draft.text);
    if (draft.type == ReplyBlockType::text && !draft.text.empty()) {
      has_text = true;
      reply.content.push_back(block_of(draft, std::move(draft.text)));
    } else if (draft.type == ReplyBlockType::reasoning) {
      reply.content.push_back(block_of(draft, reasoning_json(draft)));
    } else if (draft.type == ReplyBlockType::call && !cuts_off(said)) {
      reply.content.push_back(call_of(draft, reply.content, ++calls));
    }
  }
  reply.stop = judged_stop(said, has_text, calls > 0);
  return reply;
}

}  // namespace ratchet
