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

bool KeywordFilter::any(std::string_view text) const {
  std::uint32_t state = 0;
  for (const char c : text) {
    state = next(state, c);
    if (ends_[state]) return true;
  }
  return false;
}

std::size_t KeywordFilter::unfinished_bytes(std::string_view text) const {
  std::uint32_t state = 0;
  for (const char c : text)
    state = next(state, c);
  return nodes_[state].depth;
}

std::vector<KeywordFilter::Hit> KeywordFilter::hits(std::string_view text) const {
  std::vector<Hit> all;
  std::uint32_t state = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    state = next(state, text[i]);
    if (!ends_[state]) continue;
    for (const std::uint32_t keyword : nodes_[state].keywords)
      all.push_back({keyword, i + 1 - lengths_[keyword]});
  }
  return all;
}

}  // namespace ratchet
