#include "actors/event_hub.hpp"

#include <algorithm>

#include "runtime/event/json.hpp"

namespace ratchet {

void EventHub::subscribe(const RunId& run, std::shared_ptr<EventSink> sink) {
  Shard& home = shard(run);
  // Under the lock, so that no later piece of the reply overtakes what was said before.
  const std::lock_guard lock(home.mutex);
  home.sinks[run].push_back(sink);
  const auto preview = home.previews.find(run);
  if (preview != home.previews.end() && !preview->second.text.empty())
    sink->on_delta(run, preview->second.step, preview->second.attempt, 0, preview->second.text);
}

void EventHub::unsubscribe(const RunId& run, const EventSink* sink) {
  Shard& home = shard(run);
  const std::lock_guard lock(home.mutex);
  const auto found = home.sinks.find(run);
  if (found == home.sinks.end()) return;
  std::erase_if(found->second, [&](const std::shared_ptr<EventSink>& each) { return each.get() == sink; });
  if (found->second.empty()) home.sinks.erase(found);
}

EventHub::Sinks EventHub::listeners(const RunId& run) {
  Shard& home = shard(run);
  const std::lock_guard lock(home.mutex);
  const auto found = home.sinks.find(run);
  return found == home.sinks.end() ? Sinks{} : found->second;
}

void EventHub::publish(const RunId& run, const std::vector<Event>& events) {
  const Sinks sinks = listeners(run);
  if (sinks.empty()) return;
  auto batch = std::make_shared<std::vector<EventSink::Rendered>>();
  batch->reserve(events.size());
  for (const Event& event : events) {
    const std::string_view type = type_name(event);
    const bool wanted = std::ranges::any_of(sinks, [&](const auto& sink) { return sink->wants(type); });
    batch->push_back({event.seq, type, wanted ? to_json(event) : std::string()});
  }
  for (const auto& sink : sinks)
    sink->on_events(run, batch);
}

void EventHub::preview(
    const RunId& run, std::uint32_t step, std::uint32_t attempt, std::uint64_t index, std::string_view text) {
  Shard& home = shard(run);
  const std::lock_guard lock(home.mutex);
  Preview& preview = home.previews[run];
  if (preview.step != step || preview.attempt != attempt || index == 0) preview = {step, attempt, {}};
  preview.text.resize(std::min<std::size_t>(preview.text.size(), index));
  preview.text += text;
  const auto found = home.sinks.find(run);
  if (found == home.sinks.end()) return;
  for (const auto& sink : found->second)
    sink->on_delta(run, step, attempt, index, text);
}

void EventHub::output(const RunId& run, const ToolOutput& output) {
  for (const auto& sink : listeners(run))
    sink->on_output(run, output);
}

void EventHub::end_preview(const RunId& run) {
  Shard& home = shard(run);
  const std::lock_guard lock(home.mutex);
  home.previews.erase(run);
}

}  // namespace ratchet
