#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/model/sse.hpp"

namespace ratchet {
namespace {

using Events = std::vector<std::string>;

struct Collector {
  Events events;
  SseReader::OnEvent on_event = [this](std::string_view type, std::string& data) {
    events.push_back(std::string(type) + "=" + data);
  };
};

Events read(std::string_view bytes, std::size_t piece_bytes) {
  SseReader reader;
  Collector collector;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece_bytes, bytes.size())))
    EXPECT_TRUE(reader.feed(bytes.substr(0, piece_bytes), collector.on_event));
  EXPECT_TRUE(reader.finish(collector.on_event));
  return collector.events;
}

TEST(SseReader, ReadsEveryFormOfLineInEveryCut) {
  const struct {
    const char* what;
    std::string bytes;
    Events events;
  } table[] = {
      {"nothing", "", {}},
      {"one event", "event: a\ndata: b\n\n", {"a=b"}},
      {"no type", "data: b\n\n", {"=b"}},
      {"the type is forgotten", "event: a\ndata: b\n\ndata: c\n\n", {"a=b", "=c"}},
      {"a type without data", "event: a\n\ndata: c\n\n", {"=c"}},
      {"carriage returns", "event: a\rdata: b\r\rdata: c\r\r", {"a=b", "=c"}},
      {"both", "event: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", {"a=b", "=c"}},
      {"mixed", "event: a\rdata: b\r\n\rdata: c\n\r\ndata: d\r\r\n", {"a=b", "=c", "=d"}},
      {"a byte order mark",
       "\xEF\xBB\xBF"
       "data: b\n\n",
       {"=b"}},
      {"a byte order mark later",
       "data: a\n\n\xEF\xBB\xBF"
       "data: b\n\n",
       {"=a"}},
      {"several lines", "data: a\ndata:\ndata:  b\n\n", {"=a\n\n b"}},
      {"comments", ": ping\n:\n\ndata: a\n: x\ndata: b\n\n:\n\n", {"=a\nb"}},
      {"a keep-alive in disguise", "data: : keepalive\n\ndata: a\ndata: : keepalive\n\n", {"=a"}},
      {"no space", "data:a\nevent:b\n\n", {"b=a"}},
      {"no colon", "data\ndata: a\nevent\n\n", {"=\na"}},
      {"empty data", "data:\n\ndata: \n\ndata\n\n", {}},
      {"other fields", "id: 1\nretry: 10\nfoo: bar\ndata: a\n\n", {"=a"}},
      {"fields are case-sensitive", "Data: a\nDATA: b\ndata: c\n\n", {"=c"}},
      {"no blank line at the end", "data: a\n\ndata: b\n", {"=a", "=b"}},
      {"no line end at the end", "data: a\n\ndata: b", {"=a", "=b"}},
      {"colons in the value", "data: {\"a\":\"b: c\"}\n\n", {"={\"a\":\"b: c\"}"}},
      {"UTF-8 over the cuts", "data: é€\U0001F600\n\n", {"=é€\U0001F600"}},
  };

  for (const auto& [what, bytes, events] : table) {
    SCOPED_TRACE(what);
    for (const std::size_t piece :
         {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{7}, bytes.size() + 1})
      EXPECT_EQ(read(bytes, piece), events) << "in pieces of " << piece;
  }
}

TEST(SseReader, GivesAnEventAsSoonAsItIsWhole) {
  SseReader reader;
  Collector collector;
  ASSERT_TRUE(reader.feed("data: a\r\n\r", collector.on_event));
  EXPECT_EQ(collector.events, Events{"=a"});
  ASSERT_TRUE(reader.feed("\ndata: b\n\n", collector.on_event));
  EXPECT_EQ(collector.events, (Events{"=a", "=b"}));
}

TEST(SseReader, BoundsALineAndAnEvent) {
  SseReader reader(16);
  Collector collector;
  EXPECT_TRUE(reader.feed("data: 0123456789\n\n", collector.on_event));
  EXPECT_FALSE(reader.feed("data: 0123456789a\n\n", collector.on_event));
  EXPECT_FALSE(reader.feed("data: a\n\n", collector.on_event)) << "it must not go on after a gap";
  EXPECT_FALSE(reader.finish(collector.on_event));
  EXPECT_EQ(collector.events, Events{"=0123456789"});

  reader.reset();
  EXPECT_TRUE(reader.feed("data: 01234567\ndata: 0123456", collector.on_event));
  EXPECT_TRUE(reader.feed("\n\n", collector.on_event));
  EXPECT_FALSE(reader.feed("data: 01234567\ndata: 01234567\n", collector.on_event));
}

TEST(SseReader, BoundsALineThatNeverEnds) {
  SseReader reader(1'000);
  Collector collector;
  bool good = true;
  for (int i = 0; i < 100 && good; ++i)
    good = reader.feed(std::string(100, 'x'), collector.on_event);
  EXPECT_FALSE(good);
}

// A megabyte in pieces of a hundred bytes: each byte is looked at once, or this takes minutes.
TEST(SseReader, TakesAVeryLongLineInSmallPieces) {
  SseReader reader;
  Collector collector;
  ASSERT_TRUE(reader.feed("data: ", collector.on_event));
  const std::string piece(100, 'x');
  for (int i = 0; i < 40'000; ++i)
    ASSERT_TRUE(reader.feed(piece, collector.on_event));
  ASSERT_TRUE(reader.feed("\r\r", collector.on_event));
  ASSERT_EQ(collector.events.size(), 1u);
  EXPECT_EQ(collector.events[0].size(), 4'000'001u);
}

TEST(SseReader, IsAsNewAfterAReset) {
  SseReader reader;
  Collector collector;
  ASSERT_TRUE(reader.feed("event: old\ndata: old\nda", collector.on_event));
  reader.reset();
  ASSERT_TRUE(
      reader.feed("\xEF\xBB\xBF"
                  "data: new\n\n",
                  collector.on_event));
  EXPECT_EQ(collector.events, Events{"=new"});
}

}  // namespace
}  // namespace ratchet
