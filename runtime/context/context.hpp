#pragma once
// The context of a run as bytes: a head that many runs share, and entries that are appended and never edited.
// It is a cache of the journal, folded from the same events as the state: assembling a step costs what is new
// in it, not what the run has grown to. A request is the head, the entries, and a tail that belongs to this
// one request.
//
// Two things rewrite what is there, and the journal shows both: a compaction puts a note in the place of all
// but the first and the newest messages, and the end of a turn makes old results smaller (`layered` only).
//
// Cache marks (Anthropic) and the late message change from request to request. They are no part of the
// history: marks are put in when a request is rendered, late text stands in the tail, and neither is in the
// prompt's hash.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/context/carried.hpp"
#include "runtime/context/head.hpp"
#include "runtime/context/transcript.hpp"
#include "runtime/event/definitions.hpp"
#include "runtime/model/client.hpp"

namespace ratchet {

/// What a decision would add to the context, before it is made.
struct Growth {
  std::vector<Entry> entries;
  std::int64_t estimated_tokens = 0;  ///< of the whole request then, not calibrated
};

/// A place at which a compaction may cut: what lies before it is shown to the model and replaced by its note,
/// but for the run's input, which stays. Tokens are estimated and not calibrated.
struct Cut {
  std::uint64_t up_to_seq = 0;
  std::int64_t shown_tokens = 0;     ///< of the head and all up to the cut
  std::int64_t replaced_tokens = 0;  ///< of it, what the note takes the place of
  std::int64_t kept_tokens = 0;      ///< of what stays: head, input, and all after the cut
};

struct Proof {
  Hash prompt_hash;   ///< over head and entries, without marks
  Hash request_hash;  ///< over the bytes that are sent
};

class Context {
 public:
  /// `model` must be that of the run's `run.started`, and outlive the context.
  Context(std::shared_ptr<const Head> head, const ProviderConfig& endpoint, std::uint32_t provider);

  /// The provider whose form the context speaks. A run that has moved on to another one needs a new context.
  std::uint32_t provider() const { return transcript_.provider(); }

  void apply(const Event& event);
  /// Whether `apply` changes what was there, and does not only add to it.
  bool is_rewritten_by(const Event& event) const;
  /// What `context.compacted` does. The text of the record is that of now.
  void compact(std::uint64_t up_to_seq, std::string_view note);

  /// The context after `events` and the messages that wait, for a request that is decided together with them.
  Growth grow(std::span<const Event> events, std::string_view late_text) const;
  /// `up_to_seq` other than 0: of a compaction, which shows no more than that.
  Proof prove(const Growth& growth,
              std::int64_t max_tokens,
              std::string_view late_text,
              std::uint64_t up_to_seq = 0) const;
  /// Between whole batches, oldest first. Messages that no reply has answered yet are never cut off.
  std::vector<Cut> cuts(const Growth& growth) const;

  /// Of what the next request begins with, and the one before it began with too: estimated.
  std::int64_t prefix_tokens() const { return prefix_tokens_; }

  /// The request that the last `model.requested` announced. The pieces are shared, not copied.
  Body render(std::int64_t max_tokens, std::string_view late_text) const;

  std::size_t bytes() const;

 private:
  const Entry& at(std::size_t index, std::span<const Entry> more) const;
  std::size_t shown(std::span<const Entry> more, std::uint64_t up_to_seq) const;
  std::vector<std::size_t> marked(std::span<const Entry> more, std::size_t shown) const;
  void absorb(Entry entry);
  void replace(std::vector<Entry> entries);
  void shrink();

  std::shared_ptr<const Head> head_;
  ProviderConfig endpoint_;
  Transcript transcript_;
  std::vector<Entry> entries_;
  Sha256 plain_;  ///< head and all entries, without marks
  Sha256 sent_;   ///< head with marks and the first `settled_` entries, which no mark will touch any more
  std::size_t settled_ = 0;
  std::int64_t estimated_tokens_ = 0;
  std::int64_t prefix_tokens_ = 0;
  std::uint64_t asked_up_to_ = 0;         ///< of the last request; 0: it showed everything
  std::int64_t shrink_above_tokens_ = 0;  ///< `layered`; 0: nothing is shrunk
  Carried carried_;
};

/// A context together with the events of a decision that is being made: what a request would be that is
/// decided with them. Cheap unless an event rewrites the context, which is copied then.
class ContextAfter {
 public:
  /// Both must outlive it and not change meanwhile.
  ContextAfter(const Context& context, std::span<const Event> events);

  Growth grow(std::string_view late_text) const { return context().grow(events_, late_text); }

  const Context& context() const { return rewritten_ ? *rewritten_ : context_; }

 private:
  const Context& context_;
  std::span<const Event> events_;  ///< that are not in it yet
  std::optional<Context> rewritten_;
};

}  // namespace ratchet
