#include <gtest/gtest.h>

#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"
#include "runtime/tools/builtin.hpp"

namespace ratchet {
namespace {

constexpr std::string_view fire = "\xF0\x9F\x94\xA5";

ToolAnswer read(std::string_view bytes, std::string_view fields, std::size_t answer_bytes_max = 8'000) {
  return artifact_read(
      memory_source(bytes),
      R"({"artifact_id":"art_1")" + std::string(fields.empty() ? "" : ",") + std::string(fields) + "}",
      {answer_bytes_max, {}});
}

ToolAnswer search(std::string_view bytes, std::string_view fields, std::size_t answer_bytes_max = 8'000) {
  return artifact_search(
      memory_source(bytes), R"({"artifact_id":"art_1",)" + std::string(fields) + "}", {answer_bytes_max, {}});
}

std::string repeated(std::string_view piece, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i)
    text += piece;
  return text;
}

TEST(ArtifactRead, SaysWhichPartItIsAndHowToGoOn) {
  EXPECT_EQ(read("0123456789", R"("offset":2,"limit":3)").text,
            "[bytes 2 to 5 of 10; go on with offset 5]\n234");
  EXPECT_EQ(read("0123456789", R"("offset":5)").text, "[bytes 5 to 10 of 10; this is the end]\n56789");
  EXPECT_EQ(read("0123456789", "").text, "[bytes 0 to 10 of 10; this is the end]\n0123456789");
  EXPECT_EQ(read("", "").text, "[bytes 0 to 0 of 0; this is the end]\n");
  EXPECT_EQ(read("0123456789", R"("offset":10)"),
            (ToolAnswer{ToolStatus::error, "There is nothing at offset 10: the artifact has 10 bytes."}));
  EXPECT_EQ(read("0123456789", R"("offset":9223372036854775807)").status, ToolStatus::invalid)
      << "no JSON integer that a double holds";
  EXPECT_EQ(read("0123456789", R"("offset":9007199254740991)").status, ToolStatus::error);
}

TEST(ArtifactRead, NeverCutsACodePoint) {
  const std::string text = "a" + std::string(fire) + "b" + std::string(fire) + "\xC3\xBC";  // 1 4 1 4 2
  for (std::size_t offset = 0; offset < text.size(); ++offset) {
    for (std::size_t limit = 1; limit <= text.size() + 1; ++limit) {
      const auto answer =
          read(text, R"("offset":)" + std::to_string(offset) + R"(,"limit":)" + std::to_string(limit));
      ASSERT_EQ(answer.status, ToolStatus::ok);
      const auto shown = answer.text.substr(answer.text.find('\n') + 1);
      EXPECT_TRUE(is_valid_utf8(shown)) << offset << " " << limit;
      EXPECT_EQ(shown.find(replacement_character), std::string::npos) << offset << " " << limit;
      EXPECT_FALSE(shown.empty()) << "no progress at " << offset << " with " << limit;
    }
  }
}

TEST(ArtifactRead, ReadsAnythingToTheEndByItsOwnOffsets) {
  std::string binary;
  for (unsigned i = 0; i < 3'000; ++i)
    binary += static_cast<char>(i * 7919 >> 3);
  for (const std::string& bytes :
       {repeated(fire, 900), binary, std::string(3'000, '\x80'), std::string(100, '\0')}) {
    std::string shown;
    std::size_t offset = 0;
    while (offset < bytes.size()) {
      const auto answer =
          read(bytes, R"("offset":)" + std::to_string(offset), limits::artifact_answer_bytes_min);
      ASSERT_EQ(answer.status, ToolStatus::ok);
      EXPECT_LE(answer.text.size(), limits::artifact_answer_bytes_min);
      shown += answer.text.substr(answer.text.find('\n') + 1);
      const auto next = answer.text.find("offset ");
      if (next > answer.text.find('\n')) break;
      const std::size_t to = std::stoul(answer.text.substr(next + 7));
      ASSERT_GT(to, offset);
      offset = to;
    }
    EXPECT_EQ(shown, sanitize_utf8(bytes));
  }
}

TEST(ArtifactRead, RefusesOtherArguments) {
  EXPECT_EQ(read("x", R"("offset":-1)").status, ToolStatus::invalid);
  EXPECT_EQ(read("x", R"("limit":0)").status, ToolStatus::invalid);
  EXPECT_EQ(read("x", R"("lenght":1)").status, ToolStatus::invalid);
  EXPECT_EQ(artifact_read(memory_source("x"), "{}", {8'000, {}}).status, ToolStatus::invalid);
  EXPECT_EQ(*artifact_of(R"({"artifact_id":"art_1","x":1})"), "art_1");
  for (const std::string_view args : {"{}", "[]", "", R"({"artifact_id":1})"})
    EXPECT_FALSE(artifact_of(args)) << args;
}

TEST(ArtifactRead, SaysWhyItCannotRead) {
  const ArtifactSource broken{100, [](std::uint64_t, std::size_t) -> Result<std::string> {
                                return fail(ErrorCode::corrupt, "the blob has another hash");
                              }};
  const auto answer = artifact_read(broken, R"({"artifact_id":"a"})", {8'000, {}});
  EXPECT_EQ(answer,
            (ToolAnswer{ToolStatus::error, "The artifact cannot be read: the blob has another hash."}));
  EXPECT_EQ(artifact_search(broken, R"({"artifact_id":"a","pattern":"x"})", {8'000, {}}), answer);
}

constexpr std::string_view log_text =
    "one\n"
    "two ERROR a\n"
    "three\r\n"
    "four\n"
    "five ERROR b\r\n"
    "six";

TEST(ArtifactSearch, ShowsLineOffsetAndText) {
  EXPECT_EQ(search(log_text, R"("pattern":"ERROR")").text,
            "[Searched 45 bytes: 2 matches, the first at offset 4.]\n2:4:two ERROR a\n5:28:five ERROR b\n");
  EXPECT_EQ(search(log_text, R"("pattern":"^t.*[ae]$")").text,
            "[Searched 45 bytes: 2 matches, the first at offset 4.]\n2:4:two ERROR a\n3:16:three\n");
  EXPECT_EQ(search(log_text, R"("pattern":"(?i)SIX$")").text,
            "[Searched 45 bytes: 1 match, the first at offset 42.]\n6:42:six\n");
  EXPECT_EQ(search(log_text, R"("pattern":"seven")").text, "[Searched 45 bytes: no match.]\n");
  EXPECT_EQ(search("", R"("pattern":"x*")").text, "[Searched 0 bytes: no match.]\n");
  EXPECT_EQ(search("\n\n", R"("pattern":"^$")").text,
            "[Searched 2 bytes: 2 matches, the first at offset 0.]\n1:0:\n2:1:\n");
}

TEST(ArtifactSearch, ShowsContextOncePerLine) {
  EXPECT_EQ(search(log_text, R"("pattern":"ERROR","context_lines":1)").text,
            "[Searched 45 bytes: 2 matches, the first at offset 4.]\n"
            "1-0-one\n2:4:two ERROR a\n3-16-three\n4-23-four\n5:28:five ERROR b\n6-42-six\n");
  EXPECT_EQ(search("a\nx\nb\nc\nd\ne\nx\nf\n", R"("pattern":"x","context_lines":1)").text,
            "[Searched 16 bytes: 2 matches, the first at offset 2.]\n"
            "1-0-a\n2:2:x\n3-4-b\n--\n6-10-e\n7:12:x\n8-14-f\n");
  EXPECT_EQ(search("x\nx\nb\n", R"("pattern":"x","context_lines":2)").text,
            "[Searched 6 bytes: 2 matches, the first at offset 0.]\n1:0:x\n2:2:x\n3-4-b\n");
}

TEST(ArtifactSearch, ShowsTheFirstMatchesAndCountsAll) {
  EXPECT_EQ(search(repeated("x\n", 25), R"("pattern":"x","max_matches":2)").text,
            "[Searched 50 bytes: 25 matches, the first at offset 0; the first 2 are shown: narrow the "
            "pattern or raise "
            "max_matches.]\n1:0:x\n2:2:x\n");
  EXPECT_TRUE(search(repeated("x\n", 25), R"("pattern":"x")").text.ends_with("20:38:x\n")) << "20 by default";
  const auto wide = search(repeated("x" + std::string(200, 'y') + "\n", 200),
                           R"("pattern":"x","max_matches":200,"context_lines":10)",
                           limits::artifact_answer_bytes_min);
  EXPECT_LE(wide.text.size(), limits::artifact_answer_bytes_min);
  EXPECT_NE(wide.text.find("200 matches, the first at offset 0; the first 3 are shown: more do not fit"),
            std::string::npos)
      << wide.text;
}

TEST(ArtifactSearch, ShowsOfALongLineWhatIsAroundEachMatch) {
  std::string line = repeated(fire, 100) + "ERROR" + repeated(fire, 500) + "ERROR" + repeated(fire, 10);
  const auto answer = search("first\n" + line + "\nlast", R"("pattern":"ERROR")");
  EXPECT_NE(answer.text.find("2 matches, the first at offset 306"), std::string::npos) << answer.text;
  EXPECT_NE(answer.text.find("\n2:306:…" + repeated(fire, 25) + "ERROR" + repeated(fire, 48) + "…\n"),
            std::string::npos)
      << answer.text;
  EXPECT_NE(answer.text.find("\n2:2311:…" + repeated(fire, 25) + "ERROR" + repeated(fire, 10) + "\n"),
            std::string::npos)
      << answer.text;
}

/// One line of a few MB, as minified JSON has it: every match is found once, at the borders of pieces too.
TEST(ArtifactSearch, FindsEveryMatchInOneHugeLine) {
  const std::size_t spacing = 10'007;
  std::string line;
  std::size_t matches = 0;
  while (line.size() < 5u << 20) {
    line += std::string(spacing, '.') + "NEEDLE";
    ++matches;
  }
  const auto answer = search(line, R"("pattern":"NEEDLE","max_matches":1)");
  EXPECT_NE(answer.text.find(std::to_string(matches) + " matches, the first at offset 9907;"),
            std::string::npos)
      << answer.text;
  EXPECT_NE(search(line, R"("pattern":"^NEEDLE")").text.find("no match"), std::string::npos)
      << "the middle of a line is not its beginning";
}

TEST(ArtifactSearch, TakesAnyBytes) {
  std::string binary;
  for (unsigned i = 0; i < 400'000; ++i)
    binary += static_cast<char>(i * 7919 >> 5);
  for (const std::string& bytes : {binary,
                                   std::string(300'000, '\x80'),
                                   std::string(300'000, '\xF0'),
                                   std::string(limits::search_line_bytes_max, 'a'),
                                   std::string(limits::search_line_bytes_max, 'a') + "\n",
                                   std::string(limits::blob_file_bytes_min, 'a') + "b"}) {
    for (const std::string_view pattern : {".", "a", "b", "\\\\x{80}", "\\\\C", "$", "(?s).*"}) {
      const auto answer = search(bytes, "\"pattern\":\"" + std::string(pattern) + "\",\"context_lines\":2");
      EXPECT_EQ(answer.status, ToolStatus::ok) << pattern << ": " << answer.text;
      EXPECT_TRUE(is_valid_utf8(answer.text)) << pattern;
    }
  }
  EXPECT_NE(
      search(std::string(limits::search_line_bytes_max, 'a') + "b", R"("pattern":"b")").text.find("1 match,"),
      std::string::npos);
}

TEST(ArtifactSearch, RefusesOtherPatterns) {
  EXPECT_TRUE(search("x", R"j("pattern":"(?=x)")j")
                  .text.starts_with("/pattern: not a regular expression that RE2 takes"));
  EXPECT_EQ(search("x", R"j("pattern":"(((a{100}){100}){100})")j").status, ToolStatus::invalid);
  EXPECT_EQ(search("x", R"("pattern":"")").status, ToolStatus::invalid);
  EXPECT_EQ(search("x", "\"pattern\":\"" + std::string(limits::pattern_bytes_max + 1, 'x') + "\"").status,
            ToolStatus::invalid);
  EXPECT_EQ(search("x", R"("pattern":"x","max_matches":201)").status, ToolStatus::invalid);
  EXPECT_EQ(search("x", R"("pattern":"x","context_lines":11)").status, ToolStatus::invalid);
  EXPECT_EQ(search("x", R"("max_matches":1)").status, ToolStatus::invalid);
}

TEST(ArtifactSearch, StopsWhenItIsTold) {
  const std::string bytes = repeated("x\n", 1u << 20);
  int asked = 0;
  const auto answer = artifact_search(memory_source(bytes),
                                      R"({"artifact_id":"a","pattern":"x","max_matches":1})",
                                      {8'000, [&] { return ++asked == 3; }});
  EXPECT_EQ(answer.status, ToolStatus::timeout);
  EXPECT_TRUE(
      answer.text.starts_with("[Stopped for lack of time after 131072 of 2097152 bytes: 65536 matches, the "
                              "first at offset 0; the first 1 are shown"))
      << answer.text;
  EXPECT_EQ(asked, 3);
}

TEST(ArtifactSearch, ReadsEachByteOnce) {
  const std::string bytes = repeated("some line\n", 200'000);
  std::uint64_t read = 0;
  const ArtifactSource counting{bytes.size(),
                                [&](std::uint64_t offset, std::size_t limit) -> Result<std::string> {
                                  auto chunk = bytes.substr(offset, limit);
                                  EXPECT_EQ(offset, read);
                                  read += chunk.size();
                                  return chunk;
                                }};
  EXPECT_EQ(artifact_search(counting, R"({"artifact_id":"a","pattern":"nothing"})", {8'000, {}}).status,
            ToolStatus::ok);
  EXPECT_EQ(read, bytes.size());
}

}  // namespace
}  // namespace ratchet
