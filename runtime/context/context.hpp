#pragma once
// The context of a run as bytes: a head that many runs share, and entries that are appended and never edited.
// It is a cache of the journal, folded from the same events as the state: assembling a step costs what is new
// in it, not what the run has grown to. A request is the head, the entries, and a tail that belongs to this
// one request.
//
// Cache marks (Anthropic) and the late message change from request to request. They are no part of the
// history: marks are put in when a request is rendered, late text stands in the tail, and neither is in the
// prompt's hash.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

  /// The context after `events` and the messages that wait, for a request that is decided together with them.
  Growth grow(std::span<const Event> events, std::string_view late_text) const;
  Proof prove(const Growth& growth, std::int64_t max_tokens, std::string_view late_text) const;

  /// The request that the last `model.requested` announced. The pieces are shared, not copied.
  Body render(std::int64_t max_tokens, std::string_view late_text) const;

  std::size_t bytes() const;

 private:
  std::vector<std::size_t> marked(std::span<const Entry> more) const;
  void absorb(Entry entry);

  std::shared_ptr<const Head> head_;
  ProviderConfig endpoint_;
  Transcript transcript_;
  std::vector<Entry> entries_;
  Sha256 plain_;  ///< head and all entries, without marks
  Sha256 sent_;   ///< head with marks and the first `settled_` entries, which no mark will touch any more
  std::size_t settled_ = 0;
  std::int64_t estimated_tokens_ = 0;
};

}  // namespace ratchet
