#include "runtime/redact/keyword_filter.hpp"

#include <algorithm>
#include <deque>

namespace ratchet {

namespace {

unsigned char lower(char c) {
  return static_cast<unsigned char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

constexpr std::uint32_t none = UINT32_MAX;

}  // namespace

KeywordFilter::KeywordFilter(std::span<const std::string> keywords) {
  for (const std::string& keyword : keywords)
    for (const char c : keyword)
      if (auto& known = class_of_[lower(c)]; known == 0) known = static_cast<std::uint8_t>(classes_++);
  for (char c = 'A'; c <= 'Z'; ++c)
    class_of_[static_cast<unsigned char>(c)] = class_of_[lower(c)];

  nodes_.emplace_back();
  moves_.assign(classes_, none);
  for (std::size_t i = 0; i < keywords.size(); ++i) {
    std::uint32_t state = 0;
    for (const char c : keywords[i]) {
      const std::size_t move = state * classes_ + class_of_[lower(c)];
      if (moves_[move] == none) {
        moves_[move] = static_cast<std::uint32_t>(nodes_.size());
        nodes_.emplace_back();
        nodes_.back().depth = nodes_[state].depth + 1;
        moves_.resize(nodes_.size() * classes_, none);
      }
      state = moves_[move];
    }
    nodes_[state].keywords.push_back(static_cast<std::uint32_t>(i));
    lengths_.push_back(keywords[i].size());
    longest_ = std::max(longest_, keywords[i].size());
    note_start(keywords[i]);
  }

  // Breadth first, so that where a state falls back to is complete before the state is.
  std::deque<std::uint32_t> queue;
  for (std::size_t c = 0; c < classes_; ++c) {
    if (moves_[c] == none)
      moves_[c] = 0;
    else
      queue.push_back(moves_[c]);
  }
  for (; !queue.empty(); queue.pop_front()) {
    const std::uint32_t state = queue.front();
    const std::uint32_t fail = nodes_[state].fail;
    auto& own = nodes_[state].keywords;
    own.insert(own.end(), nodes_[fail].keywords.begin(), nodes_[fail].keywords.end());
    for (std::size_t c = 0; c < classes_; ++c) {
      const std::uint32_t fallback = moves_[fail * classes_ + c];
      auto& move = moves_[state * classes_ + c];
      if (move == none) {
        move = fallback;
      } else {
        nodes_[move].fail = fallback;
        queue.push_back(move);
      }
    }
  }
  for (const Node& node : nodes_)
    ends_.push_back(node.keywords.empty() ? 0 : 1);
}

void KeywordFilter::note_start(std::string_view keyword) {
  short_ = short_ || keyword.size() < 3;
  std::uint32_t key = 0;
  for (const char c : keyword.substr(0, 3))
    key = start_key(key, c);
  starts_[key >> 6] |= std::uint64_t{1} << (key & 63);
}

template <class OnEnd>
void KeywordFilter::scan(std::string_view text, OnEnd&& on_end) const {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t begin = short_ ? 0 : find_start(text, at);
    at = begin;
    std::uint32_t state = 0;
    // While less than three bytes of a keyword are behind it, looking for the next start is cheaper.
    do {
      if (at >= text.size()) return;
      state = next(state, text[at++]);
      if (ends_[state] && on_end(state, at)) return;
    } while (short_ || nodes_[state].depth >= 3 || at - nodes_[state].depth <= begin);
    at -= nodes_[state].depth;
  }
}

/// Where a keyword may begin, `from` or behind it; no keyword begins between. The end: none does.
std::size_t KeywordFilter::find_start(std::string_view text, std::size_t from) const {
  std::uint32_t key = 0;  // bytes before `from` count as those of no keyword
  for (std::size_t at = from; at < text.size(); ++at) {
    key = start_key(key, text[at]);
    if (may_start(key)) return at - std::min<std::size_t>(at - from, 2);
  }
  return text.size();
}

bool KeywordFilter::any(std::string_view text) const {
  bool found = false;
  scan(text, [&](std::uint32_t, std::size_t) { return found = true; });
  return found;
}

std::size_t KeywordFilter::unfinished_bytes(std::string_view text) const {
  std::uint32_t state = 0;
  for (const char c : text.substr(text.size() - std::min(text.size(), longest_)))
    state = next(state, c);
  return nodes_[state].depth;
}

std::vector<KeywordFilter::Hit> KeywordFilter::hits(std::string_view text) const {
  std::vector<Hit> all;
  scan(text, [&](std::uint32_t state, std::size_t end) {
    for (const std::uint32_t keyword : nodes_[state].keywords)
      all.push_back({keyword, end - lengths_[keyword]});
    return false;
  });
  return all;
}

}  // namespace ratchet
