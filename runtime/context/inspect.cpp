#include "runtime/context/inspect.hpp"

#include <fmt/format.h>

#include "runtime/context/context.hpp"

namespace ratchet {

namespace {

/// Without an attempt, the last one for the step itself is meant, not for a compaction after it.
bool is_wanted(const Event& event, std::uint32_t step, std::uint32_t attempt) {
  const auto* requested = std::get_if<ModelRequested>(&event.payload);
  if (!requested || event.step != step) return false;
  return attempt == 0 ? requested->purpose == CallPurpose::step : requested->attempt == attempt;
}

}  // namespace

Result<std::string> request_bytes(const AgentVersion& agent,
                                  const std::vector<Event>& events,
                                  std::uint32_t step,
                                  std::uint32_t attempt) {
  const auto wanted = std::find_if(
      events.rbegin(), events.rend(), [&](const Event& event) { return is_wanted(event, step, attempt); });
  if (wanted == events.rend())
    return fail(ErrorCode::not_found, fmt::format("step {} has no such request", step));
  const auto* started = events.empty() ? nullptr : std::get_if<RunStarted>(&events.front().payload);
  if (!started) return fail(ErrorCode::corrupt, "the run's first event is not run.started");
  const auto& requested = std::get<ModelRequested>(wanted->payload);
  if (requested.provider >= started->model.providers.size())
    return fail(ErrorCode::corrupt, "the request names no provider of the run");

  Context context(make_head(agent, started->model, started->settings, requested.provider),
                  started->model.providers[requested.provider],
                  requested.provider);
  for (const Event& event : events) {
    context.apply(event);
    if (&event == &*wanted) break;
  }
  std::string bytes;
  for (const auto& piece : context.render(requested.max_tokens, requested.late_message()))
    bytes += *piece;
  if (!(sha256(bytes) == requested.request_hash)) {
    return fail(ErrorCode::corrupt,
                fmt::format("the request of step {} does not have the hash that was journaled", step));
  }
  return bytes;
}

}  // namespace ratchet
