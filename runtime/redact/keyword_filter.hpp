#pragma once
// Which of many words occur in a text, in one pass over it (Aho and Corasick, 1975), upper or lower case:
// what keeps regular expressions away from the texts that cannot match.
//
// The automaton's next state depends on the one before, so each byte waits for two loads. It is entered only
// where three bytes stand that some word begins with; up to there each byte costs a shift and the look at a
// bit.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ratchet {

class KeywordFilter {
 public:
  struct Hit {
    std::size_t keyword;  ///< its index
    std::size_t begin;    ///< where it begins in the text
  };

  /// The keywords are not empty. Their total length is bounded by the caller.
  explicit KeywordFilter(std::span<const std::string> keywords);

  bool any(std::string_view text) const;
  /// All hits, in the order in which they end.
  std::vector<Hit> hits(std::string_view text) const;
  /// How many bytes at the end of the text are the beginning of a keyword, at most.
  std::size_t unfinished_bytes(std::string_view text) const;

 private:
  struct Node {
    std::uint32_t fail = 0;
    std::uint32_t depth = 0;
    std::vector<std::uint32_t> keywords;  ///< that end here, those of shorter suffixes too
  };

  /// Of the last three bytes. Different ones may share it: it leads into the automaton, which is exact.
  static constexpr std::uint32_t start_bits = 18;

  std::uint32_t start_key(std::uint32_t key, char c) const {
    return (key << 6 ^ class_of_[static_cast<unsigned char>(c)]) & ((1u << start_bits) - 1);
  }

  bool may_start(std::uint32_t key) const { return starts_[key >> 6] >> (key & 63) & 1; }

  void note_start(std::string_view keyword);
  std::size_t find_start(std::string_view text, std::size_t from) const;
  /// Calls `on_end(state, end)` wherever keywords end in the text; true: that is enough.
  template <class OnEnd>
  void scan(std::string_view text, OnEnd&& on_end) const;

  std::uint32_t next(std::uint32_t state, char c) const {
    return moves_[state * classes_ + class_of_[static_cast<unsigned char>(c)]];
  }

  std::array<std::uint8_t, 256> class_of_{};  ///< 0: a byte of no keyword
  std::size_t classes_ = 1;
  std::vector<std::uint32_t> moves_;
  std::vector<std::uint8_t> ends_;  ///< whether a keyword ends in the state
  std::vector<Node> nodes_;
  std::vector<std::size_t> lengths_;
  std::size_t longest_ = 0;
  /// A bit for each key that three first bytes of a keyword have.
  std::vector<std::uint64_t> starts_ = std::vector<std::uint64_t>((1u << start_bits) / 64);
  bool short_ = false;  ///< some keyword has fewer than three: the automaton sees everything
};

}  // namespace ratchet
