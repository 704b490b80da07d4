#pragma once
// Events: what is asked of models, what they answer, and what is taken out of the context.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/content.hpp"
#include "runtime/hash.hpp"
#include "runtime/model/config.hpp"
#include "runtime/model/reply.hpp"
#include "runtime/money.hpp"
#include "runtime/run/budgets.hpp"
#include "runtime/run/rules_version.hpp"
#include "runtime/time.hpp"

namespace ratchet {

/// Announces one attempt of a model call and reserves what it may cost at most. A compaction belongs to the
/// step that was last begun, and its attempts count on.
struct ModelRequested {
  CallPurpose purpose = CallPurpose::step;
  std::uint32_t attempt = 1;
  std::uint32_t provider = 0;  ///< index into the run's providers
  std::uint32_t assembler_version = newest_assembler;
  Hash prompt_hash;   ///< without late text and cache marks
  Hash request_hash;  ///< of the bytes sent
  std::int64_t max_tokens = 0;
  std::string late_text;  ///< the last message of this one request; empty: none
  std::int64_t estimated_tokens = 0;
  Amount reserved;
  std::string hook_text;           ///< what hooks at `pre_model` added to that message
  std::uint64_t up_to_seq = 0;     ///< of a compaction: what it shows, and what its note will replace
  std::int64_t prefix_tokens = 0;  ///< of `estimated_tokens`: what the request before began with, too

  /// The last message as it was sent.
  std::string late_message() const { return hook_text.empty() ? late_text : late_text + '\n' + hook_text; }

  static constexpr std::string_view type = "model.requested";
  bool operator==(const ModelRequested&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "purpose", self.purpose);
    visit(2, "attempt", self.attempt);
    visit(3, "provider", self.provider);
    visit(4, "assembler_version", self.assembler_version);
    visit(5, "prompt_hash", self.prompt_hash);
    visit(6, "request_hash", self.request_hash);
    visit(7, "max_tokens", self.max_tokens);
    visit(8, "late_text", self.late_text);
    visit(9, "estimated_tokens", self.estimated_tokens);
    visit(10, "reserved", self.reserved);
    visit(11, "hook_text", self.hook_text);
    visit(12, "up_to_seq", self.up_to_seq);
    visit(13, "prefix_tokens", self.prefix_tokens);
  }
};

struct ModelCompleted {
  std::uint32_t attempt = 1;
  ModelStop stop_reason = ModelStop::end_turn;
  std::vector<ReplyBlock> content;
  Usage usage;
  bool usage_estimated = false;
  Usd cost_usd;
  std::int64_t latency_ms = 0;
  std::int64_t ttft_ms = 0;
  CallPurpose purpose = CallPurpose::step;

  static constexpr std::string_view type = "model.completed";
  bool operator==(const ModelCompleted&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "attempt", self.attempt);
    visit(2, "stop_reason", self.stop_reason);
    visit(3, "content", self.content);
    visit(4, "usage", self.usage);
    visit(5, "usage_estimated", self.usage_estimated);
    visit(6, "cost_usd", self.cost_usd);
    visit(7, "latency_ms", self.latency_ms);
    visit(8, "ttft_ms", self.ttft_ms);
    visit(9, "purpose", self.purpose);
  }
};

struct ModelFailed {
  std::uint32_t attempt = 1;
  std::string error;
  FailureClass kind = FailureClass::transient;
  Usage charged;
  Usd charged_usd;
  std::optional<Timestamp> retry_at;
  std::optional<std::uint32_t> next_provider;

  static constexpr std::string_view type = "model.failed";
  bool operator==(const ModelFailed&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "attempt", self.attempt);
    visit(2, "error", self.error);
    visit(3, "class", self.kind);
    visit(4, "charged", self.charged);
    visit(5, "charged_usd", self.charged_usd);
    visit(6, "retry_at", self.retry_at);
    visit(7, "next_provider", self.next_provider);
  }
};

/// What was said up to `up_to_seq` is in the context as this summary only; the journal keeps all of it.
struct ContextCompacted {
  std::uint64_t up_to_seq = 0;
  std::string summary;
  std::int64_t tokens_before = 0;  ///< estimated, of the whole request
  std::int64_t tokens_after = 0;

  static constexpr std::string_view type = "context.compacted";
  bool operator==(const ContextCompacted&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "up_to_seq", self.up_to_seq);
    visit(2, "summary", self.summary);
    visit(3, "tokens_before", self.tokens_before);
    visit(4, "tokens_after", self.tokens_after);
  }
};

}  // namespace ratchet
