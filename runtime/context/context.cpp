#include "runtime/context/context.hpp"

#include <algorithm>

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
      estimated_tokens_(head_->estimated_tokens) {}

void Context::apply(const Event& event) {
  transcript_.fold(event, endpoint_, [this](Entry entry) { absorb(std::move(entry)); });
}

void Context::absorb(Entry entry) {
  plain_.add(*entry.bytes);
  estimated_tokens_ += estimate_tokens(*entry.bytes);
  entries_.push_back(std::move(entry));
  // Marks lie within the last blocks, and further entries only push them on: what lies before is hashed for
  // good.
  const std::vector<std::size_t> marks = marked({});
  const std::size_t first_open = marks.empty() ? entries_.size() : marks.back();
  for (; settled_ < first_open; ++settled_)
    sent_.add(*entries_[settled_].bytes);
}

/// The indices of the entries that carry a mark, the newest first, as if `more` followed.
std::vector<std::size_t> Context::marked(std::span<const Entry> more) const {
  std::vector<std::size_t> marks;
  const auto at = [&](std::size_t index) -> const Entry& {
    return index < entries_.size() ? entries_[index] : more[index - entries_.size()];
  };
  // The newest place that takes a mark, and the furthest one before it that is still near enough to the end.
  std::uint32_t blocks_after = 0;
  for (std::size_t i = entries_.size() + more.size(); i-- > 0 && blocks_after <= mark_distance_blocks_max;) {
    if (at(i).mark != 0) {
      if (marks.size() == 2) marks.pop_back();
      marks.push_back(i);
    }
    blocks_after += at(i).blocks;
  }
  return marks;
}

Growth Context::grow(std::span<const Event> events, std::string_view late_text) const {
  Growth growth;
  growth.estimated_tokens = estimated_tokens_ + estimate_tokens(late_text);
  const Transcript::Sink sink = [&](Entry entry) {
    growth.estimated_tokens += estimate_tokens(*entry.bytes);
    growth.entries.push_back(std::move(entry));
  };
  Transcript next = transcript_;
  for (const Event& event : events)
    next.fold(event, endpoint_, sink);
  next.flush(endpoint_, sink);
  return growth;
}

Proof Context::prove(const Growth& growth, std::int64_t max_tokens, std::string_view late_text) const {
  const std::string tail =
      render_tail(endpoint_, max_tokens, late_text, !entries_.empty() || !growth.entries.empty());
  Proof proof;
  Sha256 plain = plain_;
  for (const Entry& entry : growth.entries)
    plain.add(*entry.bytes);
  proof.prompt_hash = plain.finish();

  const std::vector<std::size_t> marks = marked(growth.entries);
  Sha256 sent = sent_;
  const auto add = [&](const Entry& entry, std::size_t index) {
    const bool marked_here = std::find(marks.begin(), marks.end(), index) != marks.end();
    sent.add(marked_here ? *with_mark(entry) : *entry.bytes);
  };
  for (std::size_t i = settled_; i < entries_.size(); ++i)
    add(entries_[i], i);
  for (std::size_t i = 0; i < growth.entries.size(); ++i)
    add(growth.entries[i], entries_.size() + i);
  proof.request_hash = sent.add(tail).finish();
  return proof;
}

Body Context::render(std::int64_t max_tokens, std::string_view late_text) const {
  Body body;
  body.reserve(entries_.size() + 2);
  body.push_back(head_->bytes);
  const std::vector<std::size_t> marks = marked({});
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const bool marked_here = std::find(marks.begin(), marks.end(), i) != marks.end();
    body.push_back(marked_here ? with_mark(entries_[i]) : entries_[i].bytes);
  }
  body.push_back(
      std::make_shared<const std::string>(render_tail(endpoint_, max_tokens, late_text, !entries_.empty())));
  return body;
}

std::size_t Context::bytes() const {
  std::size_t total = head_->bytes->size();
  for (const Entry& entry : entries_)
    total += entry.bytes->size();
  return total;
}

}  // namespace ratchet
