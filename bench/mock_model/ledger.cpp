#include "bench/mock_model/ledger.hpp"

#include <functional>

#include <fmt/format.h>

namespace ratchet::bench {

namespace {

constexpr std::uint64_t runs_max = 20'000'000;  // a larger number is taken for a request without a mark
constexpr unsigned step_bits = 16;

}  // namespace

Ledger::RunClock* Ledger::clock_of(std::optional<std::uint64_t> run) {
  if (!run || *run >= runs_max) return nullptr;
  if (*run >= clocks_.size()) clocks_.resize(*run + 1);
  return &clocks_[*run];
}

void Ledger::note_progress(RunClock& clock, const Arrival& arrival) {
  if (progress_.marked_ns == 0 || arrival.connected_ns < progress_.marked_ns || clock.progressed) return;
  clock.progressed = true;
  if (progress_.runs++ == 0) progress_.first_ns = arrival.at_ns;
  progress_.last_ns = arrival.at_ns;
}

void Ledger::model_asked(const Arrival& arrival) {
  ++totals_.model_requests;
  auto* clock = clock_of(arrival.run);
  if (clock == nullptr) {
    ++totals_.unmarked_requests;
    return;
  }
  note_progress(*clock, arrival);
  if (arrival.step <= clock->model_step) ++totals_.repeated_model_requests;
  clock->model_step = arrival.step;
  if (clock->answered_ns != 0) {
    const auto took_ns = arrival.at_ns - clock->answered_ns;
    if (clock->answered_by_tool) from_tool_.record(took_ns);
    step_.record(clock->answered_by_tool ? clock->to_tool_ns + took_ns : took_ns);
  }
  clock->answered_ns = 0;
}

void Ledger::model_answered(std::optional<std::uint64_t> run, std::int64_t at_ns, bool final) {
  ++totals_.model_replies;
  if (final) ++totals_.final_answers;
  if (auto* clock = clock_of(run)) {
    clock->answered_ns = at_ns;
    clock->answered_by_tool = false;
  }
}

void Ledger::tool_asked(const Arrival& arrival, std::string_view idempotency_key) {
  ++totals_.tool_requests;
  auto* clock = clock_of(arrival.run);
  if (clock == nullptr) {
    ++totals_.unmarked_requests;
    return;
  }
  note_progress(*clock, arrival);
  const auto key_hash = idempotency_key.empty() ? 0 : std::hash<std::string_view>{}(idempotency_key);
  const auto [known, is_new] = effects_.try_emplace(*arrival.run << step_bits | arrival.step, key_hash);
  if (is_new) {
    ++totals_.distinct_effects;
  } else if (key_hash != 0 && known->second == key_hash) {
    ++totals_.repeated_keys;  // a tool that takes keys does not act again
  } else {
    ++totals_.duplicate_effects;
  }
  clock->to_tool_ns = 0;
  if (clock->answered_ns != 0 && !clock->answered_by_tool) {
    clock->to_tool_ns = arrival.at_ns - clock->answered_ns;
    to_tool_.record(clock->to_tool_ns);
  }
  clock->answered_ns = 0;
}

void Ledger::tool_answered(std::optional<std::uint64_t> run, std::int64_t at_ns) {
  if (auto* clock = clock_of(run)) {
    clock->answered_ns = at_ns;
    clock->answered_by_tool = true;
  }
}

void Ledger::cut_off(std::optional<std::uint64_t> run) {
  ++totals_.cut_off_replies;
  if (auto* clock = clock_of(run)) clock->answered_ns = 0;
}

void Ledger::mark(std::int64_t at_ns) {
  progress_ = {.marked_ns = at_ns};
  for (auto& clock : clocks_) {
    clock.progressed = false;
    clock.answered_ns = 0;
  }
}

void Ledger::reset() {
  totals_ = {};
  step_ = to_tool_ = from_tool_ = round_ = {};
}

std::string Ledger::to_json() const {
  return fmt::format(
      R"({{"model_requests":{},"model_replies":{},"final_answers":{},"repeated_model_requests":{},)"
      R"("tool_calls":{},"distinct_keys":{},"repeated_keys":{},"duplicates":{},)"
      R"("cut_off_replies":{},"unmarked_requests":{},)"
      R"("progress":{{"marked_ns":{},"first_ns":{},"last_ns":{},"runs":{}}},)"
      R"("overhead":{{"step":{},"to_tool":{},"from_tool":{}}},"round":{}}})"
      "\n",
      totals_.model_requests,
      totals_.model_replies,
      totals_.final_answers,
      totals_.repeated_model_requests,
      totals_.tool_requests,
      totals_.distinct_effects,
      totals_.repeated_keys,
      totals_.duplicate_effects,
      totals_.cut_off_replies,
      totals_.unmarked_requests,
      progress_.marked_ns,
      progress_.first_ns,
      progress_.last_ns,
      progress_.runs,
      step_.to_json(),
      to_tool_.to_json(),
      from_tool_.to_json(),
      round_.to_json());
}

}  // namespace ratchet::bench
