#include "runtime/replay/answers.hpp"

#include <fmt/format.h>

#include "runtime/replay/patch.hpp"

namespace ratchet {

namespace {

/// Calls are the same where the model made them the same: canonical arguments, before hooks and people
/// changed them.
std::string key_of(const ReplyBlock& block) {
  std::string key = block.tool;
  key += '\n';
  key += sha256(block.args).view();
  return key;
}

/// Whether a result says what the tool did.
bool is_of_tool(ToolStatus status) {
  return status == ToolStatus::ok || status == ToolStatus::error || status == ToolStatus::timeout ||
         status == ToolStatus::killed;
}

bool is_of_person(ToolStatus status) {
  return status == ToolStatus::rejected || status == ToolStatus::expired;
}

}  // namespace

RecordedCalls::RecordedCalls(std::span<const Event> original, std::uint32_t from_step) {
  std::map<std::string, std::pair<std::string, std::size_t>> places;  // by call id
  for (const Event& event : original) {
    if (event.step < from_step) continue;
    if (const auto* completed = std::get_if<ModelCompleted>(&event.payload)) {
      for (const ReplyBlock& block : completed->content) {
        if (block.type != ReplyBlockType::call) continue;
        auto& results = results_[key_of(block)];
        places[block.call_id] = {key_of(block), results.size()};
        // Until its result comes it is a call that was never carried out.
        results.emplace_back().status = ToolStatus::cancelled;
      }
    }
    if (const auto* result = std::get_if<ToolResult>(&event.payload)) {
      const auto place = places.find(result->call_id);
      if (place != places.end()) results_[place->second.first].at(place->second.second) = *result;
    }
  }
}

const ToolResult* RecordedCalls::find(const std::string& key, std::size_t ordinal, bool asks) const {
  const auto at = results_.find(key);
  if (at == results_.end() || ordinal >= at->second.size()) return nullptr;
  const ToolResult& result = at->second[ordinal];
  return is_of_tool(result.status) || (asks && is_of_person(result.status)) ? &result : nullptr;
}

ReplayAnswers::ReplayAnswers(const RunStarted& started,
                             std::shared_ptr<const RecordedCalls> record,
                             std::string why_none,
                             bool environment)
    : record_(std::move(record)), why_none_(std::move(why_none)) {
  RATCHET_ENSURE(started.replay, "only a replay is answered from a record");
  rule_ = {started.replay->tools, environment};
  // They were read when the replay began; a journal in which they cannot be read any more has none.
  if (auto mocks = mocks_of(started.replay->patch)) mocks_ = std::move(*mocks);
}

ReplayAnswers::Places ReplayAnswers::places_of(const ModelCompleted& completed) const {
  Places places;
  std::map<std::string, std::size_t> here;
  for (const ReplyBlock& block : completed.content) {
    if (block.type != ReplyBlockType::call) continue;
    const std::string key = key_of(block);
    const auto before = seen_.find(key);
    places[block.call_id] = {key, (before == seen_.end() ? 0 : before->second) + here[key]++};
  }
  return places;
}

void ReplayAnswers::apply(const Event& event) {
  const auto* completed = std::get_if<ModelCompleted>(&event.payload);
  if (!completed || event.replayed) return;
  batch_ = places_of(*completed);
  for (const auto& [call_id, place] : batch_)
    ++seen_[place.key];
}

std::optional<ReplayAnswers::Answer> ReplayAnswers::answer(std::string_view call_id,
                                                           const ToolManifest& tool,
                                                           bool asks,
                                                           std::span<const Event> fresh) const {
  const auto mock = mocks_.find(tool.name);
  const bool executable = may_execute(rule_, tool);
  // Where a tool would be executed, whoever gave a mock for it does not want that.
  if (executable && mock == mocks_.end()) return std::nullopt;

  Places replied;
  const Places* places = &batch_;
  for (const Event& event : fresh)
    if (const auto* completed = std::get_if<ModelCompleted>(&event.payload)) {
      replied = places_of(*completed);
      places = &replied;
    }
  Answer answer;
  const auto place = places->find(call_id);
  if (!executable && record_ && place != places->end())
    if (const ToolResult* found = record_->find(place->second.key, place->second.ordinal, asks)) {
      answer.recorded = *found;
      answer.source = ResultSource::record;
      return answer;
    }
  if (mock != mocks_.end()) {
    answer.mock = mock->second;
    answer.source = ResultSource::mock;
    return answer;
  }
  answer.why = fmt::format(
      "This run is a replay, and {} was not executed{}. {}, and there is no mock for it. Find another way, "
      "or say what "
      "you would have done.",
      tool.name,
      rule_.tools == ReplayTools::live ? fmt::format(" (side effects: {})", name(tool.side_effects)) : "",
      record_ ? "The record has no result of this call" : why_none_);
  return answer;
}

}  // namespace ratchet
