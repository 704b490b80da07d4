// The keyword filter against the obvious way: every keyword looked for at every place.

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "runtime/redact/keyword_filter.hpp"

namespace ratchet {
namespace {

using Places = std::set<std::pair<std::size_t, std::size_t>>;  // begin, keyword

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

Places looked_for(const std::vector<std::string>& keywords, std::string_view text) {
  Places places;
  const std::string all = lowered(text);
  for (std::size_t k = 0; k < keywords.size(); ++k)
    for (auto at = all.find(lowered(keywords[k])); at != std::string::npos;
         at = all.find(lowered(keywords[k]), at + 1))
      places.emplace(at, k);
  return places;
}

Places found(const KeywordFilter& filter, std::string_view text) {
  Places places;
  for (const auto& hit : filter.hits(text))
    EXPECT_TRUE(places.emplace(hit.begin, hit.keyword).second) << "twice";
  return places;
}

std::size_t unfinished(const std::vector<std::string>& keywords, std::string_view text) {
  std::size_t most = 0;
  for (const std::string& keyword : keywords)
    for (std::size_t bytes = std::min(keyword.size(), text.size()); bytes > most; --bytes)
      if (lowered(text.substr(text.size() - bytes)) == lowered(keyword).substr(0, bytes)) most = bytes;
  return most;
}

/// Texts of few letters, so that beginnings of keywords overlap in every way.
class Letters {
 public:
  std::string draw(std::string_view alphabet, std::size_t size) {
    std::string text;
    while (text.size() < size) {
      state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
      text += alphabet[(state_ >> 16) % alphabet.size()];
    }
    return text;
  }

 private:
  std::uint64_t state_ = 88172645463325252u;
};

TEST(KeywordFilter, FindsWhatIsThereAndNothingElse) {
  const std::vector<std::string> sets[] = {
      {"secret", "password", "sk-", "_token", "://"},
      {"aba", "abab", "bab", "aabb", "abc", "cab"},
      {"AbA", "bbb", "cccc"},
      {"ab", "aba", "c"},  // shorter than three bytes: another way in
      {std::string("\xC3\xA4\xC3", 3), std::string("a\0b", 3), "a-b"},
  };
  Letters letters;
  for (const auto& keywords : sets) {
    const KeywordFilter filter(keywords);
    const std::string alphabet("abcABC-\xC3\xA4\0", 10);
    for (std::size_t round = 0; round < 2'000; ++round) {
      std::string text = letters.draw(round % 2 ? "ab" : alphabet, round % 40);
      if (round % 3 == 0) text += keywords[round % keywords.size()];
      if (round % 4 == 0) text += letters.draw(alphabet, round % 5);
      if (round % 5 == 0) text = "pass" + text + "secresecret_token:///sk";
      const Places expected = looked_for(keywords, text);
      ASSERT_EQ(found(filter, text), expected) << text;
      ASSERT_EQ(filter.any(text), !expected.empty()) << text;
      ASSERT_EQ(filter.unfinished_bytes(text), unfinished(keywords, text)) << text;
    }
  }
}

TEST(KeywordFilter, KnowsFarMoreLettersThanItsTableHasRoomFor) {
  std::vector<std::string> keywords;
  for (int c = 1; c < 256; ++c)
    if (c < 'A' || c > 'Z') keywords.push_back({static_cast<char>(c), static_cast<char>(255 - c), 'x', 'y'});
  const KeywordFilter filter(keywords);
  Letters letters;
  std::string alphabet;
  for (int c = 0; c < 256; ++c)
    alphabet += static_cast<char>(c);
  for (std::size_t round = 0; round < 500; ++round) {
    const std::string text = letters.draw(alphabet, 40) + keywords[round % keywords.size()];
    ASSERT_EQ(found(filter, text), looked_for(keywords, text));
  }
}

TEST(KeywordFilter, HasNothingInAnEmptyText) {
  const KeywordFilter filter(std::vector<std::string>{"secret"});
  EXPECT_FALSE(filter.any(""));
  EXPECT_TRUE(filter.hits("se").empty());
  EXPECT_EQ(filter.unfinished_bytes(""), 0u);
  EXPECT_FALSE(KeywordFilter(std::vector<std::string>{}).any("secret"));
}

}  // namespace
}  // namespace ratchet
