#include "runtime/context/transcript.hpp"

#include <algorithm>

namespace ratchet {

void Transcript::fold(const Event& event, const ProviderConfig& endpoint, const Sink& sink) {
  if (const auto* started = std::get_if<RunStarted>(&event.payload)) {
    add_user(started->input, endpoint, sink);
  } else if (const auto* message = std::get_if<MessageReceived>(&event.payload)) {
    messages_.push_back(message->content);
  } else if (const auto* requested = std::get_if<ModelRequested>(&event.payload)) {
    asked_provider_ = requested->provider;
    flush(endpoint, sink);
  } else if (const auto* completed = std::get_if<ModelCompleted>(&event.payload)) {
    add_reply(*completed, endpoint, sink);
  } else if (const auto* result = std::get_if<ToolResult>(&event.payload)) {
    add_result(*result, endpoint, sink);
  }
}

void Transcript::flush(const ProviderConfig& endpoint, const Sink& sink) {
  for (const Content& message : messages_)
    add_user(message, endpoint, sink);
  messages_.clear();
}

void Transcript::add(WirePiece piece, std::uint32_t blocks, const Sink& sink) {
  if (piece.bytes.empty()) return;
  Entry entry;
  entry.blocks = blocks;
  const std::size_t comma = empty_ ? 0 : 1;
  if (!piece.marks.empty()) entry.mark = piece.marks.back() + comma;
  if (comma) piece.bytes.insert(piece.bytes.begin(), ',');
  piece.bytes.shrink_to_fit();
  entry.bytes = std::make_shared<const std::string>(std::move(piece.bytes));
  empty_ = false;
  sink(std::move(entry));
}

void Transcript::add_user(const Content& content, const ProviderConfig& endpoint, const Sink& sink) {
  add(render_user(endpoint.protocol, content),
      static_cast<std::uint32_t>(std::max<std::size_t>(content.size(), 1)),
      sink);
}

void Transcript::add_reply(const ModelCompleted& completed,
                           const ProviderConfig& endpoint,
                           const Sink& sink) {
  // Reasoning belongs to the provider that made it; another one would refuse it.
  const bool own = asked_provider_ == provider_;
  add(render_assistant(endpoint, completed.content, own),
      static_cast<std::uint32_t>(completed.content.size()),
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

  std::vector<WireResult> results;
  for (const AwaitedResult& each : batch_)
    results.push_back({each.call_id, each.provider_id, &each.content, each.is_error});
  add(render_tool_results(endpoint.protocol, results), static_cast<std::uint32_t>(results.size()), sink);
  batch_.clear();
}

}  // namespace ratchet
