#include "runtime/context/context.hpp"

#include <algorithm>

#include "runtime/context/window.hpp"
#include "runtime/limits.hpp"
#include "runtime/model/estimate.hpp"

namespace ratchet {

namespace {

/// A provider looks back over at most 20 blocks from a mark, so the second rolling mark stays closer than
/// that to the first: a turn of many parallel calls would be missed otherwise.
constexpr std::uint32_t mark_distance_blocks_max = 15;

std::shared_ptr<const std::string> with_mark(const Entry& entry) {
  auto bytes = std::make_shared<std::string>(*entry.bytes);
  bytes->insert(entry.mark, cache_mark);
  return bytes;
}

}  // namespace

Context::Context(std::shared_ptr<const Head> head, const ProviderConfig& endpoint, std::uint32_t provider)
    : head_(std::move(head)),
      endpoint_(endpoint),
      transcript_(provider),
      plain_(head_->plain),
      sent_(head_->sent),
      estimated_tokens_(head_->estimated_tokens),
      prefix_tokens_(head_->estimated_tokens) {}

void Context::apply(const Event& event) {
  carried_.fold(event);
  const bool rewritten = is_rewritten_by(event);
  transcript_.fold(event, endpoint_, [this](Entry entry) { absorb(std::move(entry)); });
  if (const auto* started = std::get_if<RunStarted>(&event.payload)) {
    if (started->context.strategy == ContextStrategy::layered)
      shrink_above_tokens_ =
          usable_window_tokens(started->model, started->settings) * limits::layered_drop_permille / 1'000;
  } else if (const auto* requested = std::get_if<ModelRequested>(&event.payload)) {
    asked_up_to_ = requested->up_to_seq;
    // Another provider has seen nothing but the heads of other runs.
    if (requested->provider != provider())
      prefix_tokens_ = head_->estimated_tokens;
    else if (asked_up_to_ == 0)
      prefix_tokens_ = estimated_tokens_;
  } else if (const auto* compacted = std::get_if<ContextCompacted>(&event.payload)) {
    compact(compacted->up_to_seq, compacted->summary);
  } else if (rewritten) {
    shrink();
  }
}

void Context::absorb(Entry entry) {
  plain_.add(*entry.bytes);
  estimated_tokens_ += entry.tokens;
  entries_.push_back(std::move(entry));
  // Marks lie within the last blocks, and further entries only push them on: what lies before is hashed for
  // good.
  const std::vector<std::size_t> marks = marked({}, entries_.size());
  const std::size_t first_open = marks.empty() ? entries_.size() : marks.back();
  for (; settled_ < first_open; ++settled_)
    sent_.add(*entries_[settled_].bytes);
}

const Entry& Context::at(std::size_t index, std::span<const Entry> more) const {
  return index < entries_.size() ? entries_[index] : more[index - entries_.size()];
}

/// How many of the entries a request shows, as if `more` followed.
std::size_t Context::shown(std::span<const Entry> more, std::uint64_t up_to_seq) const {
  std::size_t count = entries_.size() + more.size();
  while (up_to_seq > 0 && count > 0 && at(count - 1, more).seq > up_to_seq)
    --count;
  return count;
}

/// The indices of the entries that carry a mark, the newest first, of the first `shown` of all.
std::vector<std::size_t> Context::marked(std::span<const Entry> more, std::size_t shown) const {
  std::vector<std::size_t> marks;
  // The newest place that takes a mark, and the furthest one before it that is still near enough to the end.
  std::uint32_t blocks_after = 0;
  for (std::size_t i = shown; i-- > 0 && blocks_after <= mark_distance_blocks_max;) {
    if (at(i, more).mark != 0) {
      if (marks.size() == 2) marks.pop_back();
      marks.push_back(i);
    }
    blocks_after += at(i, more).blocks;
  }
  return marks;
}

Growth Context::grow(std::span<const Event> events, std::string_view late_text) const {
  Growth growth;
  growth.estimated_tokens = estimated_tokens_ + estimate_tokens(late_text);
  const Transcript::Sink sink = [&](Entry entry) {
    growth.estimated_tokens += entry.tokens;
    growth.entries.push_back(std::move(entry));
  };
  Transcript next = transcript_;
  for (const Event& event : events)
    next.fold(event, endpoint_, sink);
  next.flush(endpoint_, UINT64_MAX, sink);
  return growth;
}

Proof Context::prove(const Growth& growth,
                     std::int64_t max_tokens,
                     std::string_view late_text,
                     std::uint64_t up_to_seq) const {
  const std::span<const Entry> more = growth.entries;
  const std::size_t count = shown(more, up_to_seq);
  const std::string tail = render_tail(endpoint_, max_tokens, late_text, count > 0);
  // What has been hashed already serves where the request goes beyond it, as all but compactions do.
  const bool beyond = count >= entries_.size();
  Proof proof;
  Sha256 plain = beyond ? plain_ : head_->plain;
  for (std::size_t i = beyond ? entries_.size() : 0; i < count; ++i)
    plain.add(*at(i, more).bytes);
  proof.prompt_hash = plain.finish();

  const std::vector<std::size_t> marks = marked(more, count);
  Sha256 sent = beyond ? sent_ : head_->sent;
  for (std::size_t i = beyond ? settled_ : 0; i < count; ++i) {
    const bool marked_here = std::find(marks.begin(), marks.end(), i) != marks.end();
    sent.add(marked_here ? *with_mark(at(i, more)) : *at(i, more).bytes);
  }
  proof.request_hash = sent.add(tail).finish();
  return proof;
}

Body Context::render(std::int64_t max_tokens, std::string_view late_text) const {
  const std::size_t count = shown({}, asked_up_to_);
  Body body;
  body.reserve(count + 2);
  body.push_back(head_->bytes);
  const std::vector<std::size_t> marks = marked({}, count);
  for (std::size_t i = 0; i < count; ++i) {
    const bool marked_here = std::find(marks.begin(), marks.end(), i) != marks.end();
    body.push_back(marked_here ? with_mark(entries_[i]) : entries_[i].bytes);
  }
  body.push_back(
      std::make_shared<const std::string>(render_tail(endpoint_, max_tokens, late_text, count > 0)));
  return body;
}

std::size_t Context::bytes() const {
  std::size_t total = head_->bytes->size();
  for (const Entry& entry : entries_)
    total += entry.bytes->size();
  return total;
}

ContextAfter::ContextAfter(const Context& context, std::span<const Event> events)
    : context_(context), events_(events) {
  const bool rewritten = std::any_of(
      events.begin(), events.end(), [&](const Event& event) { return context.is_rewritten_by(event); });
  if (!rewritten) return;
  rewritten_ = context;
  for (const Event& event : events)
    rewritten_->apply(event);
  events_ = {};
}

}  // namespace ratchet
