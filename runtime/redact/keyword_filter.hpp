#pragma once
// Which of many words occur in a text, in one pass over it (Aho and Corasick, 1975), upper or lower case:
// what keeps regular expressions away from the texts that cannot match.

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

  std::uint32_t next(std::uint32_t state, char c) const {
    return moves_[state * classes_ + class_of_[static_cast<unsigned char>(c)]];
  }

  std::array<std::uint8_t, 256> class_of_{};  ///< 0: a byte of no keyword
  std::size_t classes_ = 1;
  std::vector<std::uint32_t> moves_;
  std::vector<std::uint8_t> ends_;  ///< whether a keyword ends in the state
  std::vector<Node> nodes_;
  std::vector<std::size_t> lengths_;
};

}  // namespace ratchet
