#include "runtime/context/transcript.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"
#include "runtime/model/estimate.hpp"

namespace ratchet {

namespace {

std::string_view shown_text(const Block& block) {
  if (block.artifact) return block.artifact->head;
  return block.type == BlockType::image ? std::string_view("(an image)") : std::string_view(block.text);
}

/// At most limits::stub_bytes of a result, and how to have all of it.
Content stub_of(const Content& content) {
  std::string text;
  std::uint64_t bytes = 0;
  std::string more;
  for (const Block& block : content) {
    if (!text.empty()) text += '\n';
    text += shown_text(block);
    bytes += block.artifact ? block.artifact->bytes : block.text.size();
    if (block.artifact && more.empty())
      more = fmt::format(" artifact_read has all of it: {}", to_string(block.artifact->id));
  }
  const bool whole = std::none_of(content.begin(), content.end(), [](const Block& block) {
    return block.artifact.has_value() || block.type == BlockType::image;
  });
  if (whole && text.size() <= limits::stub_bytes) return text_content(std::move(text));
  const std::string note = fmt::format("… [shortened, of {} bytes.{}]", bytes, more);
  text.resize(utf8_cut(text, limits::stub_bytes - std::min(note.size(), limits::stub_bytes)));
  return text_content(text + note);
}

Content nothing_of(const Content&) {
  return text_content("[left out]");
}

}  // namespace

void Transcript::fold(const Event& event, const ProviderConfig& endpoint, const Sink& sink) {
  seq_ = event.seq;
  if (const auto* started = std::get_if<RunStarted>(&event.payload)) {
    shrinks_ = started->context.strategy == ContextStrategy::layered;
    add_user(started->input, endpoint, sink);
  } else if (const auto* message = std::get_if<MessageReceived>(&event.payload)) {
    messages_.push_back(message->content);
  } else if (const auto* requested = std::get_if<ModelRequested>(&event.payload)) {
    asked_provider_ = requested->provider;
    flush(endpoint, event.seq, sink);
  } else if (const auto* completed = std::get_if<ModelCompleted>(&event.payload)) {
    // A hand-over note is no turn of the conversation: `context.compacted` says what becomes of it.
    if (completed->purpose == CallPurpose::step) add_reply(*completed, endpoint, sink);
  } else if (const auto* result = std::get_if<ToolResult>(&event.payload)) {
    add_result(*result, endpoint, sink);
  }
}

void Transcript::flush(const ProviderConfig& endpoint, std::uint64_t seq, const Sink& sink) {
  seq_ = seq;
  for (const Content& message : messages_)
    add_user(message, endpoint, sink);
  messages_.clear();
}

Entry Transcript::stand_in(std::string text, const ProviderConfig& endpoint, std::uint64_t seq) const {
  Entry entry = entry_of(render_user(endpoint.protocol, text_content(std::move(text))), 1, EntryKind::said);
  entry.seq = seq;
  return entry;
}

Entry Transcript::entry_of(WirePiece piece, std::size_t blocks, EntryKind kind) const {
  Entry entry;
  entry.kind = kind;
  entry.seq = seq_;
  entry.blocks = static_cast<std::uint32_t>(std::max<std::size_t>(blocks, 1));
  const std::size_t comma = empty_ ? 0 : 1;
  if (!piece.marks.empty()) entry.mark = piece.marks.back() + comma;
  if (comma && !piece.bytes.empty()) piece.bytes.insert(piece.bytes.begin(), ',');
  piece.bytes.shrink_to_fit();
  entry.tokens = estimate_tokens(piece.bytes);
  entry.bytes = std::make_shared<const std::string>(std::move(piece.bytes));
  return entry;
}

void Transcript::add(Entry entry, const Sink& sink) {
  if (entry.bytes->empty()) return;
  empty_ = false;
  sink(std::move(entry));
}

void Transcript::add_user(const Content& content, const ProviderConfig& endpoint, const Sink& sink) {
  add(entry_of(render_user(endpoint.protocol, content), content.size(), EntryKind::said), sink);
}

void Transcript::add_reply(const ModelCompleted& completed,
                           const ProviderConfig& endpoint,
                           const Sink& sink) {
  // Reasoning belongs to the provider that made it; another one would refuse it.
  const bool own = asked_provider_ == provider_;
  add(entry_of(
          render_assistant(endpoint, completed.content, own), completed.content.size(), EntryKind::reply),
      sink);
  batch_.clear();
  for (const ReplyBlock& block : completed.content) {
    if (block.type == ReplyBlockType::call)
      batch_.push_back({block.call_id, block.provider_id, false, false, {}});
  }
}

void Transcript::add_result(const ToolResult& result, const ProviderConfig& endpoint, const Sink& sink) {
  const auto awaited = std::find_if(batch_.begin(), batch_.end(), [&](const AwaitedResult& each) {
    return each.call_id == result.call_id;
  });
  if (awaited == batch_.end()) return;
  awaited->arrived = true;
  awaited->is_error = result.status != ToolStatus::ok;
  awaited->content = result.content;
  if (!std::all_of(batch_.begin(), batch_.end(), [](const AwaitedResult& each) { return each.arrived; }))
    return;

  Entry entry = results_with(endpoint, nullptr);
  if (shrinks_) {
    auto stubs = std::make_shared<Entry>(results_with(endpoint, stub_of));
    const auto nothing = std::make_shared<const Entry>(results_with(endpoint, nothing_of));
    if (nothing->tokens < stubs->tokens) stubs->smaller = nothing;
    entry.smaller = stubs->tokens < entry.tokens ? stubs : stubs->smaller;
  }
  add(std::move(entry), sink);
  batch_.clear();
}

/// All results of the batch as one entry, each in this form.
Entry Transcript::results_with(const ProviderConfig& endpoint, Content (*form)(const Content&)) const {
  std::vector<Content> contents;
  std::vector<WireResult> results;
  contents.reserve(batch_.size());
  for (const AwaitedResult& each : batch_) {
    if (form) contents.push_back(form(each.content));
    const Content* content = form ? &contents.back() : &each.content;
    results.push_back({each.call_id, each.provider_id, content, each.is_error});
  }
  return entry_of(render_tool_results(endpoint.protocol, results), results.size(), EntryKind::results);
}

}  // namespace ratchet
