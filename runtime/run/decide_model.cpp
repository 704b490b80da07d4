#include <algorithm>

#include <fmt/format.h>

#include "runtime/limits.hpp"
#include "runtime/model/estimate.hpp"
#include "runtime/run/draft.hpp"

namespace ratchet {

namespace {

constexpr std::int64_t retry_first_ms = 500;
constexpr std::int64_t retry_last_ms = 8'000;

/// min(0.5 · 2^n, 8) seconds less up to a quarter, or what the provider asked for: the policy of the official
/// clients.
std::int64_t retry_delay_ms(std::uint32_t failures_before, std::int64_t asked_ms, Entropy& entropy) {
  if (asked_ms >= 0) return asked_ms;
  const std::int64_t delay = std::min(retry_first_ms << std::min(failures_before, 10u), retry_last_ms);
  const std::uint8_t jitter = entropy.draw()[0];
  return delay - delay * jitter / (4 * 256);
}

std::size_t bytes_of(const std::vector<ReplyBlock>& content) {
  std::size_t bytes = 0;
  for (const ReplyBlock& block : content)
    bytes += block.text.size() + block.args.size() + block.tool.size();
  return bytes;
}

/// The calls get ids that are unique in the run, in the order in which the model wrote them.
void number_calls(std::vector<ReplyBlock>& content, std::uint32_t step) {
  std::uint32_t n = 0;
  for (ReplyBlock& block : content)
    if (block.type == ReplyBlockType::call) block.call_id = fmt::format("call_{}_{}", step, ++n);
}

/// What a provider reports goes into sums that decide about money: nothing below zero, nothing that
/// overflows.
Usage believable(Usage usage) {
  for (std::int64_t* tokens : {&usage.input, &usage.cached_input, &usage.cache_write, &usage.output})
    *tokens = std::clamp<std::int64_t>(*tokens, 0, limits::usage_tokens_max);
  return usage;
}

bool is_cut_off(ModelStop stop) {
  return stop == ModelStop::max_tokens || stop == ModelStop::refusal || stop == ModelStop::context_overflow;
}

/// The use of an attempt of which nobody knows how far it got.
Usage all_reserved(const RunState& state) {
  Usage usage;
  usage.output = std::min(state.model.max_tokens, state.reserved.tokens);
  usage.input = state.reserved.tokens - usage.output;
  return usage;
}

bool has_calls(const std::vector<ReplyBlock>& content) {
  return std::any_of(content.begin(), content.end(), [](const ReplyBlock& block) {
    return block.type == ReplyBlockType::call;
  });
}

/// Completes one attempt that gave a whole reply.
class Completion {
 public:
  Completion(Draft& draft, const ModelReply& reply, const ModelOutcome& outcome)
      : draft_(draft), reply_(reply), outcome_(outcome) {}

  void operator()() {
    ModelCompleted completed = settled();
    const std::vector<ReplyBlock> content = completed.content;
    const bool refused_before = draft_.state.compaction.refused;
    const bool is_note = completed.purpose == CallPurpose::compaction;
    draft_.emit(std::move(completed));
    if (is_note) {
      if (!draft_.state.cancel) draft_.note_came(reply_);
    } else if (has_calls(content)) {
      draft_.request_calls(content);
    } else if (!draft_.state.cancel) {
      answered(refused_before);
    }
  }

 private:
  ModelCompleted settled() {
    ModelCompleted completed;
    completed.attempt = draft_.state.model.number;
    completed.stop_reason = reply_.stop;
    completed.content = reply_.content;
    completed.purpose = draft_.state.model.purpose;
    // The last call of a reply that was cut off may be half a call, so none of them counts. Nobody wants a
    // call of a hand-over note.
    if (is_cut_off(reply_.stop) || completed.purpose == CallPurpose::compaction)
      std::erase_if(completed.content, [](const ReplyBlock& b) { return b.type == ReplyBlockType::call; });
    number_calls(completed.content, draft_.state.step);
    completed.usage = believable(reply_.usage);
    if (!reply_.usage_reported) {
      completed.usage_estimated = true;
      completed.usage.input = draft_.state.model.estimated_tokens;
      completed.usage.output = estimate_tokens_of_bytes(bytes_of(reply_.content));
    }
    completed.cost_usd = cost_of(completed.usage, draft_.started().model.prices);
    completed.latency_ms = outcome_.latency_ms;
    completed.ttft_ms = outcome_.ttft_ms;
    return completed;
  }

  /// A reply without calls: the end, unless somebody has said something meanwhile.
  void answered(bool refused_before) {
    switch (reply_.stop) {
      case ModelStop::refusal:
        return draft_.finish(StopReason::refused, "the model refused");
      case ModelStop::max_tokens:
        return draft_.finish(StopReason::model_length, "the reply reached its length limit");
      case ModelStop::context_overflow:
        if (!refused_before) return;  // a compaction may help
        return draft_.finish(StopReason::context_overflow, "the model's window is full");
      case ModelStop::pause_turn:
        return;
      default:
        break;
    }
    if (draft_.state.messages_pending > 0) return;
    if (draft_.started().interactive) return draft_.pause({PauseReason::message});
    draft_.finish(StopReason::final_answer);
  }

  Draft& draft_;
  const ModelReply& reply_;
  const ModelOutcome& outcome_;
};

/// Decides what follows a failed attempt: the same provider again, the next one, or the end.
void fail_attempt(Draft& draft, const ModelFailure& failure, Usage charged, Usd charged_usd) {
  const RunState& state = draft.state;
  ModelFailed failed;
  failed.attempt = state.model.number;
  failed.error = failure.text;
  failed.kind = failure.kind;
  failed.charged = charged;
  failed.charged_usd = charged_usd;
  // A lost attempt is nobody's failure: only the budgets bound how often a run is interrupted.
  const bool lost = failure.kind == FailureClass::lost;
  const std::uint32_t failures = state.model.failures_of_provider + 1;
  const bool passing = failure.kind == FailureClass::transient || failure.kind == FailureClass::overloaded;
  const bool again = lost || (passing && failures < limits::attempts_per_provider_max);
  // Too long for the provider: once, a compaction may help.
  const bool compacts = failure.kind == FailureClass::overflow && state.model.purpose == CallPurpose::step &&
                        !state.compaction.refused;
  const bool hopeless = failure.kind == FailureClass::overflow || failure.kind == FailureClass::rejected;
  const bool next = !hopeless && !again && state.model.provider + 1 < draft.started().model.providers.size();
  if (again) {
    const std::int64_t delay_ms =
        lost ? 0 : retry_delay_ms(failures - 1, failure.retry_after_ms, draft.stamp.entropy);
    failed.retry_at = draft.now().plus_ms(delay_ms);
  } else if (compacts) {
    failed.retry_at = draft.now();
  } else if (next) {
    failed.next_provider = state.model.provider + 1;
  }
  draft.emit(std::move(failed));
  if (again || next || compacts || draft.state.cancel) return;
  const bool overflow = failure.kind == FailureClass::overflow;
  const std::string& first = draft.state.compaction.refusal;
  draft.finish(overflow ? StopReason::context_overflow : StopReason::model_error,
               overflow && !first.empty() ? first : failure.text);
}

}  // namespace

Usd cost_of(const Usage& usage, const Prices& prices) {
  const std::int64_t fresh = std::max<std::int64_t>(usage.input - usage.cached_input - usage.cache_write, 0);
  return price(fresh, prices.input) + price(usage.cached_input, prices.cached_input) +
         price(usage.cache_write, prices.cache_write) + price(usage.output, prices.output);
}

void Draft::model_ended(const input::ModelEnded& ended) {
  if (const auto* reply = std::get_if<ModelReply>(&ended.outcome.value)) {
    Completion(*this, *reply, ended.outcome)();
    return;
  }
  const ModelFailure& failure = std::get<ModelFailure>(ended.outcome.value);
  const Usage charged = believable(failure.usage);
  // Output was produced and nobody says how much: it may have been all that was asked for.
  if (failure.produced && charged.total() == 0)
    return fail_attempt(*this, failure, all_reserved(state), state.reserved.usd);
  fail_attempt(*this, failure, charged, cost_of(charged, started().model.prices));
}

void Draft::model_lost(std::string why) {
  ModelFailure failure;
  failure.kind = FailureClass::lost;
  failure.text = std::move(why);
  fail_attempt(*this, failure, all_reserved(state), state.reserved.usd);
}

void Draft::abandon_model(std::string why) {
  ModelFailed failed;
  failed.attempt = state.model.number;
  failed.error = std::move(why);
  failed.kind = FailureClass::lost;
  failed.charged = all_reserved(state);
  failed.charged_usd = state.reserved.usd;
  emit(std::move(failed));
}

}  // namespace ratchet
