#pragma once
// A model's reply, the same for every provider. What must go back to the provider untouched (reasoning) is
// kept as the bytes it sent.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/content.hpp"
#include "runtime/enums.hpp"

namespace ratchet {

/// What a model is called for: the next step of its run, or a hand-over note that takes the place of what was
/// said before.
RATCHET_ENUM(CallPurpose, step, compaction)

RATCHET_ENUM(ReplyBlockType, text, call, reasoning)

struct ReplyBlock {
  ReplyBlockType type = ReplyBlockType::text;
  std::string
      text;  ///< text: what it says. reasoning: the provider's own JSON value, never shown or exported
  std::string call_id;      ///< call: ours, unique in the run
  std::string provider_id;  ///< call: the provider's, empty where it sent none
  std::string tool;         ///< call
  std::string
      args;  ///< call: one JSON object in canonical form, or what the model sent if `args_error` is set
  std::string args_error;  ///< call: why the arguments are no JSON object; such a call is never executed

  bool operator==(const ReplyBlock&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "type", self.type);
    visit(2, "text", self.text);
    visit(3, "call_id", self.call_id);
    visit(4, "provider_id", self.provider_id);
    visit(5, "tool", self.tool);
    visit(6, "args", self.args);
    visit(7, "args_error", self.args_error);
  }
};

/// Tokens of one reply, or of many. `input` includes what was read from and written to the provider's cache,
/// whichever way the provider itself counts.
struct Usage {
  std::int64_t input = 0, cached_input = 0, cache_write = 0, output = 0;

  bool operator==(const Usage&) const = default;

  Usage& operator+=(const Usage& other) {
    input += other.input;
    cached_input += other.cached_input;
    cache_write += other.cache_write;
    output += other.output;
    return *this;
  }

  std::int64_t total() const { return input + output; }

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "input_tokens", self.input);
    visit(2, "cached_input_tokens", self.cached_input);
    visit(3, "cache_write_tokens", self.cache_write);
    visit(4, "output_tokens", self.output);
  }
};

/// Why the model stopped. `other` is what a provider says that we do not know: it is judged by the content.
RATCHET_ENUM(ModelStop, end_turn, tool_use, max_tokens, refusal, context_overflow, pause_turn, other)

/// One whole reply. A reply that was cut off is never one of these: it is a `ModelFailure`.
struct ModelReply {
  ModelStop stop = ModelStop::end_turn;
  std::vector<ReplyBlock> content;  ///< `call_id` still empty: the run gives those
  Usage usage;
  bool usage_reported = false;  ///< false: the provider said nothing, `usage` is all zero
};

/// What can be done about a failed attempt.
///   transient: the same provider again, after a while    overloaded: as transient, and fewer calls at once
///   permanent: this provider will not do it, the next one might    money: as permanent, the account is empty
///   overflow: the prompt is too long for the model    rejected: the request itself is wrong, nobody will
///   take it lost: nobody knows what became of it (the process ended)
RATCHET_ENUM(FailureClass, transient, overloaded, permanent, money, overflow, rejected, lost)

struct ModelFailure {
  FailureClass kind = FailureClass::transient;
  std::string text;  ///< for people; at most 512 bytes of what the provider said, without secrets
  std::int64_t retry_after_ms = -1;  ///< what the provider asked for; -1: nothing
  bool produced = false;             ///< output had begun: the provider may charge for it
  Usage usage;                       ///< as far as it was reported
};

}  // namespace ratchet
