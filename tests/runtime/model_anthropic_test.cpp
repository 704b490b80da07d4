// Canned streams of the Messages API. The numbers of the odd cases are those of the list that the wire codecs
// were written against: each was seen on a server.

#include <string>

#include <gtest/gtest.h>

#include "runtime/limits.hpp"
#include "tests/runtime/model_replies.hpp"

namespace ratchet {
namespace {

using testing::ended;
using testing::expect_reply;

std::string event(const std::string& type, const std::string& rest) {
  return "event: " + type + "\ndata: {\"type\":\"" + type + "\"" + (rest.empty() ? "" : ",") + rest + "}\n\n";
}

const std::string start = event(
    "message_start",
    R"("message":{"id":"msg_1","type":"message","role":"assistant","content":[],"stop_reason":null,"usage":{"input_tokens":120,"cache_read_input_tokens":5900,"output_tokens":1}})");
const std::string ping = event("ping", "");
const std::string stop = event("message_stop", "");

std::string begin(int index, const std::string& block) {
  return event("content_block_start", R"("index":)" + std::to_string(index) + R"(,"content_block":)" + block);
}

std::string delta(int index, const std::string& body) {
  return event("content_block_delta", R"("index":)" + std::to_string(index) + R"(,"delta":)" + body);
}

std::string text(int index, const std::string& escaped) {
  return delta(index, R"({"type":"text_delta","text":")" + escaped + "\"}");
}

std::string json(int index, const std::string& escaped) {
  return delta(index, R"({"type":"input_json_delta","partial_json":")" + escaped + "\"}");
}

std::string end(int index) {
  return event("content_block_stop", R"("index":)" + std::to_string(index));
}

std::string reason(const std::string& reason, int output_tokens = 89) {
  return event("message_delta",
               R"("delta":{"stop_reason":")" + reason +
                   R"(","stop_sequence":null},"usage":{"output_tokens":)" + std::to_string(output_tokens) +
                   "}");
}

const std::string text_block = R"({"type":"text","text":""})";
const std::string weather = R"({"type":"tool_use","id":"toolu_1","name":"get_weather","input":{}})";
const std::string time_call = R"({"type":"tool_use","id":"toolu_2","name":"get_time","input":{}})";
const std::string usage = " | usage 6020 5900 0 89";

void expect(std::string_view what, const std::string& bytes, const std::string& expected) {
  expect_reply(Protocol::anthropic, what, bytes, expected);
}

TEST(AnthropicReply, ReadsTextThoughtsAndCalls) {
  expect("text",
         start + ping + begin(0, text_block) + text(0, "Hel") + ping + text(0, "lo\\n\\u00e9") + end(0) +
             reason("end_turn") + stop,
         "end_turn | text Hello\né" + usage);
  expect("stop sequence",
         start + begin(0, text_block) + text(0, "a") + end(0) + reason("stop_sequence") + stop,
         "end_turn | text a" + usage);
  expect("thoughts, text, call",
         start + begin(0, R"({"type":"thinking","thinking":"","signature":""})") +
             delta(0, R"({"type":"thinking_delta","thinking":"Hm, \"Z"})") +
             delta(0, R"({"type":"thinking_delta","thinking":"\u00fcrich\"\n"})") +
             delta(0, R"({"type":"signature_delta","signature":"c2ln+/=="})") + end(0) +
             begin(1, text_block) + text(1, "Let me check.") + end(1) + begin(2, weather) + json(2, "") +
             json(2, "{\\\"ci") + json(2, "ty\\\": \\\"Z\\u00fcrich\\\"}") + end(2) + reason("tool_use") +
             stop,
         R"(tool_use | reasoning {"type":"thinking","thinking":"Hm, \"Zürich\"\n","signature":"c2ln+/=="})"
         R"( | text Let me check. | call toolu_1 get_weather {"city":"Zürich"})" +
             usage);
  expect("thoughts that are not shown",
         start + begin(0, R"({"type":"thinking","thinking":"","signature":""})") +
             delta(0, R"({"type":"signature_delta","signature":"c2ln"})") + end(0) + begin(1, text_block) +
             text(1, "a") + end(1) + reason("end_turn") + stop,
         R"(end_turn | reasoning {"type":"thinking","thinking":"","signature":"c2ln"} | text a)" + usage);
  expect(
      "redacted thoughts, byte by byte",
      start + begin(0, R"({ "type" : "redacted_thinking",  "data":"b3Bh\u0071dWU=" })") + end(0) +
          begin(1, text_block) + text(1, "a") + end(1) + reason("end_turn") + stop,
      R"(end_turn | reasoning { "type" : "redacted_thinking",  "data":"b3Bh\u0071dWU=" } | text a)" + usage);
}

TEST(AnthropicReply, TakesABodyThatIsNotStreamed) {
  expect(
      "a body",
      R"(  {"id":"msg_1","type":"message","content":[{"type":"thinking","thinking":"x","signature":"s", "new":1},)"
      R"({"type":"text","text":"Let me check.","citations":null},)"
      R"({"type":"tool_use","id":"toolu_1","name":"get_weather","input":{"city" : "Z\u00fcrich","a":1.0},"caller":{"type":"direct"}}],)"
      R"("stop_reason":"tool_use","usage":{"input_tokens":120,"output_tokens":30,"cache_creation_input_tokens":10,)"
      R"("cache_read_input_tokens":5900,"cache_creation":{"ephemeral_5m_input_tokens":0}}} )",
      R"(tool_use | reasoning {"type":"thinking","thinking":"x","signature":"s", "new":1} | text Let me check.)"
      R"( | call toolu_1 get_weather {"a":1,"city":"Zürich"} | usage 6030 5900 10 30)");
  expect(
      "a body with an empty turn",
      R"({"type":"message","content":[],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}})",
      "end_turn | usage 1 0 0 1");
  expect("a cut body",
         R"({"type":"message","content":[{"type":"text","text":"Let me)",
         "failed transient: unreadable reply: A string is opened, but never closed.");
  expect("two bodies",
         R"({"content":[],"stop_reason":"end_turn"}{"content":[]})",
         "failed transient: unreadable reply: Unexpected trailing content in the JSON input.");
  expect("an error with status 200",
         R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})",
         "failed overloaded: error in the stream overloaded_error: Overloaded");
  expect("no reply at all",
         R"({"hello":"world"})",
         R"(failed transient: error in the stream: {"hello":"world"})");
}

TEST(AnthropicReply, Case1AccumulatesFragmentsOfSeveralCalls) {
  std::string bytes = start + begin(0, weather) + begin(1, time_call);
  for (const char c : std::string("{'city':'Bern'}"))
    bytes += json(0, c == '\'' ? "\\\"" : std::string(1, c)) +
             json(1, c == '{' || c == '}' ? std::string(1, c) : " ");
  expect("interleaved single characters",
         bytes + end(0) + end(1) + reason("tool_use") + stop,
         R"(tool_use | call toolu_1 get_weather {"city":"Bern"} | call toolu_2 get_time {})" + usage);
}

TEST(AnthropicReply, Case2And3TellsBlocksWithOneIndexApart) {
  expect("every block has the index 0",
         start + begin(0, text_block) + text(0, "a") + begin(0, weather) + json(0, "{\\\"city\\\":1}") +
             begin(0, time_call) + json(0, "{}") + reason("tool_use") + stop,
         R"(tool_use | text a | call toolu_1 get_weather {"city":1} | call toolu_2 get_time {})" + usage);
  expect("no index at all",
         start + event("content_block_start", R"("content_block":)" + weather) +
             event("content_block_delta",
                   R"("delta":{"type":"input_json_delta","partial_json":"{\"city\":2}"})") +
             reason("tool_use") + stop,
         R"(tool_use | call toolu_1 get_weather {"city":2})" + usage);
}

TEST(AnthropicReply, Case4And22LeavesAnIdEmptyThatIsMissingOrUsed) {
  expect("no id, then the same id twice",
         start + begin(0, R"({"type":"tool_use","name":"a"})") +
             begin(1, R"({"type":"tool_use","id":"x","name":"b"})") +
             begin(2, R"({"type":"tool_use","id":"x","name":"c"})") + reason("tool_use") + stop,
         "tool_use | call - a {} | call x b {} | call - c {}" + usage);
}

TEST(AnthropicReply, Case6TakesEmptyArgumentsAsAnEmptyObject) {
  expect("no delta",
         start + begin(0, weather) + end(0) + reason("tool_use") + stop,
         "tool_use | call toolu_1 get_weather {}" + usage);
  expect("an empty delta",
         start + begin(0, weather) + json(0, "") + end(0) + reason("tool_use") + stop,
         "tool_use | call toolu_1 get_weather {}" + usage);
  expect("a blank delta",
         start + begin(0, weather) + json(0, " \\n ") + end(0) + reason("tool_use") + stop,
         "tool_use | call toolu_1 get_weather {}" + usage);
  const std::string filled = R"({"type":"tool_use","id":"toolu_1","name":"f","input":{"b":[1, 2],"a":{}}})";
  expect("the block has them already",
         start + begin(0, filled) + json(0, "") + end(0) + reason("tool_use") + stop,
         R"(tool_use | call toolu_1 f {"a":{},"b":[1,2]})" + usage);
  expect("deltas count more",
         start + begin(0, filled) + json(0, "{\\\"c\\\":3}") + end(0) + reason("tool_use") + stop,
         R"(tool_use | call toolu_1 f {"c":3})" + usage);
}

TEST(AnthropicReply, Case7And8RefusesArgumentsThatAreNoObject) {
  const struct {
    std::string escaped, args, problem;
  } table[] = {
      {"{\\\"a\\\":", "{\"a\":", "line 1, column 6: expected a value, found the end of the text"},
      {"null", "null", "expected an object, found null"},
      {"[{}]", "[{}]", "expected an object, found an array"},
      {"\\\"{}\\\"", "\"{}\"", "expected an object, found a string"},
      {"{\\\"a\\\":NaN}", "{\"a\":NaN}", "line 1, column 6: expected a value, found \"NaN\""},
      {"{\\\"a\\\":1,\\\"a\\\":2}",
       "{\"a\":1,\"a\":2}",
       "line 1, column 13: the object that ends here has the key \"a\" twice"},
      {"{\\\"a\\\":1e999}", "{\"a\":1e999}", "line 1, column 11: the number 1e999 is out of range"},
      {"{} and more", "{} and more", "line 1, column 4: expected nothing after the value, found \"and\""},
      {"{}{}", "{}{}", "line 1, column 3: expected nothing after the value, found \"{\""},
  };

  for (const auto& [escaped, args, problem] : table)
    expect(args,
           start + begin(0, weather) + json(0, escaped) + end(0) + reason("tool_use") + stop,
           "tool_use | call toolu_1 get_weather " + args +
               " (the arguments are not one JSON object: " + problem + ")" + usage);
  expect(
      "a body's input that is an array",
      R"({"content":[{"type":"tool_use","id":"x","name":"f","input": [1, {}] }],"stop_reason":"tool_use"})",
      "tool_use | call x f [1, {}] (the arguments are not one JSON object: expected an object, found an "
      "array) | "
      "usage ?");
}

TEST(AnthropicReply, Case8MakesLoneSurrogatesReplacementCharacters) {
  expect("in the arguments",
         start + begin(0, weather) + json(0, "{\\\"a\\\":\\\"\\\\ud83d\\\",\\\"b\\\":\\\"\\ud83d\\\"}") +
             end(0) + reason("tool_use") + stop,
         "tool_use | call toolu_1 get_weather {\"a\":\"\uFFFD\",\"b\":\"\uFFFD\"}" + usage);
  expect("in the text, and before another block",
         start + begin(0, text_block) + text(0, "a\\ud83d") + text(0, "b\\udc00") + end(0) +
             begin(1, text_block) + text(1, "c") + end(1) + reason("end_turn") + stop,
         "end_turn | text a\uFFFDb\uFFFD | text c" + usage);
}

TEST(AnthropicReply, Case9JoinsWhatIsCutInsideOfACharacter) {
  expect("raw bytes, and a pair of surrogates over two deltas",
         start + begin(0, text_block) + text(0, "é€\U0001F600") + text(0, "\\ud83d") + text(0, "\\ude00.") +
             end(0) + reason("end_turn") + stop,
         "end_turn | text é€\U0001F600\U0001F600." + usage);
}

TEST(AnthropicReply, Case10To13ReadsEveryFormOfStream) {
  std::string crlf;
  for (const char c : start + begin(0, text_block) + text(0, "a") + end(0) + reason("end_turn") + stop)
    crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  expect("CRLF and a byte order mark", "\xEF\xBB\xBF" + crlf, "end_turn | text a" + usage);
  expect("comments and keep-alives",
         ": ping\n\n:\n\n" + start + ":\n\ndata: : keepalive\n\n" + begin(0, text_block) + "data:\n\n" +
             text(0, "a") + end(0) + reason("end_turn") + stop,
         "end_turn | text a" + usage);
  auto unfinished = start + begin(0, text_block) + text(0, "a") + end(0) + reason("end_turn");
  unfinished.resize(unfinished.size() - 2);
  expect("no line end at the end", unfinished, "end_turn | text a" + usage);
  expect("data after the end",
         start + begin(0, text_block) + text(0, "a") + reason("end_turn") + stop + "data: [DONE]\n\n" +
             text(0, "more") + "data: rubbish\n\n",
         "end_turn | text a" + usage);
  std::string nameless;
  const auto named = start + begin(0, text_block) + text(0, "a") + reason("end_turn") + stop;
  for (std::size_t at = 0; at < named.size();) {
    const auto line_end = named.find('\n', at) + 1;
    if (named.compare(at, 6, "event:") != 0) nameless += named.substr(at, line_end - at);
    at = line_end;
  }
  expect("no event lines", nameless, "end_turn | text a" + usage);
}

TEST(AnthropicReply, Case14And15TakesUsageWhereverItIs) {
  expect("none at all",
         event("message_start", R"("message":{})") + begin(0, text_block) + text(0, "a") +
             event("message_delta", R"("delta":{"stop_reason":"end_turn"})") + stop,
         "end_turn | text a | usage ?");
  expect("only that of the start: what the reply cost is not known",
         start + begin(0, text_block) + text(0, "a") +
             event("message_delta", R"("delta":{"stop_reason":"end_turn"})") + stop,
         "end_turn | text a | usage ?");
  expect(
      "the last one counts, null says nothing",
      start + begin(0, text_block) + text(0, "a") +
          event("message_delta",
                R"("delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":7,"output_tokens":3,)"
                R"("cache_read_input_tokens":null,"cache_creation_input_tokens":5,"server_tool_use":null})") +
          stop,
      "end_turn | text a | usage 5912 5900 5 3");
  expect(
      "nonsense is not believed",
      start + begin(0, text_block) + text(0, "a") +
          event("message_delta",
                R"("delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":-7,"output_tokens":1e300})") +
          stop,
      "end_turn | text a | usage 6020 5900 0 1");
}

TEST(AnthropicReply, Case17And18FailsAReplyThatDoesNotEnd) {
  const auto begun = start + begin(0, text_block) + text(0, "a");
  expect("an error in the stream",
         begun + event("error", R"("error":{"type":"overloaded_error","message":"Overloaded"})"),
         "failed overloaded (produced): error in the stream overloaded_error: Overloaded");
  expect("an error of the other shape",
         begun + "data: {\"error\":{\"code\":500,\"message\":\"boom\",\"type\":\"server_error\"}}\n\n" + stop,
         "failed transient (produced): error in the stream server_error: boom");
  expect("an error before anything",
         start + event("error", R"("error":{"type":"invalid_request_error","message":"bad"})"),
         "failed rejected: error in the stream invalid_request_error: bad");
  expect("the stream just ends",
         begun + end(0),
         "failed transient (produced): the reply ended before it was whole");
  expect("it ends inside of an event",
         begun + "event: content_block_delta\ndata: {\"type\":\"conte",
         "failed transient (produced): the reply ended before it was whole");
  expect_reply(
      Protocol::anthropic,
      "the connection breaks",
      begun,
      fmt::format("failed transient (produced): connection reset after {} bytes of the reply", begun.size()),
      ended(200, "connection reset"));
  expect("it ends inside of an event after all is said",
         begun + reason("end_turn") + "event: message_stop\ndata: {\"type\":\"mess",
         "end_turn | text a" + usage);
  expect_reply(
      Protocol::anthropic,
      "it breaks inside of an event",
      begun + "data: {\"type\":\"conte",
      fmt::format("failed transient (produced): timed out after {} bytes of the reply", begun.size() + 20),
      ended(200, "timed out"));
  expect_reply(Protocol::anthropic,
               "it breaks when all is said",
               begun + reason("end_turn"),
               "end_turn | text a" + usage,
               ended(200, "connection reset"));
  // simdjson must not be asked on after an error (found by the fuzzer).
  expect("a missing comma",
         begun + R"(data: {"type":"ping" "index":0,"error":{},"delta":{"text":"b"}})" + "\n\n" + stop,
         "failed transient (produced): unreadable reply: The JSON document has an improper structure: "
         "missing or "
         "superfluous commas, braces, missing keys, etc.");
  expect("an event that is no JSON",
         begun + "data: {\"type\":\"content_block_delta\",\"delta\":{]}\n\n" + stop,
         "failed transient (produced): unreadable reply: The JSON document has an improper structure: "
         "missing or "
         "superfluous commas, braces, missing keys, etc.");
}

TEST(AnthropicReply, Case20TakesNullWhereverAStringBelongs) {
  expect("nulls",
         event("message_start", R"("message":{"content":null,"usage":null})") +
             begin(0, R"({"type":"text","text":null})") + delta(0, R"({"type":"text_delta","text":null})") +
             text(0, "a") + begin(1, R"({"type":"tool_use","id":null,"name":"f","input":null})") +
             event("message_delta", R"("delta":null,"usage":null)") +
             event("message_delta", R"("delta":{"stop_reason":null})") + reason("tool_use") + stop,
         "tool_use | text a | call - f {} | usage ?");
}

TEST(AnthropicReply, Case21KeepsAToolNameAsItIs) {
  expect(
      "dots and capitals",
      start + begin(0, R"({"type":"tool_use","id":"x","name":"Mail.Send/Now"})") + reason("tool_use") + stop,
      "tool_use | call x Mail.Send/Now {}" + usage);
}

TEST(AnthropicReply, Case23KeepsTextAfterACall) {
  expect("text, call, text",
         start + begin(0, text_block) + text(0, "a") + end(0) + begin(1, weather) + json(1, "{}") + end(1) +
             begin(2, text_block) + text(2, "b") + end(2) + reason("tool_use") + stop,
         "tool_use | text a | call toolu_1 get_weather {} | text b" + usage);
}

TEST(AnthropicReply, Case24TakesAVeryLongEventAndRefusesAnEndlessOne) {
  const std::string long_text(3'000'000, 'x');
  expect("three megabytes in one line",
         start + begin(0, text_block) + text(0, long_text) + reason("end_turn") + stop,
         "end_turn | text " + long_text + usage);
  const auto parser = make_reply_parser(Protocol::anthropic);
  const auto endless =
      testing::play(*parser,
                    {start, begin(0, text_block), "data: ", std::string(limits::sse_line_bytes_max, 'x')},
                    ended(200));
  EXPECT_EQ(testing::line(endless), "failed transient (produced): unreadable reply: a line is too long");
  EXPECT_EQ(endless.progress, ReplyParser::Progress::failed);
}

TEST(AnthropicReply, Case25ToleratesABlockThatBeginsBeforeTheLastOneEnds) {
  expect("as llama-server does it",
         event("message_start",
               R"("message":{"usage":{"input_tokens":1,"cache_read_input_tokens":269,"output_tokens":0}})") +
             begin(0, R"({"type":"tool_use","id":"Zx0","name":"get_weather"})") +
             json(0, "{\\\"city\\\"\\n \\t:") +
             begin(1, R"({"type":"tool_use","id":"Zx1","name":"get_time"})") + json(0, "\\\"Bern\\\"}") +
             json(1, "{}") + end(0) + end(1) + reason("tool_use", 12) + stop,
         R"(tool_use | call Zx0 get_weather {"city":"Bern"} | call Zx1 get_time {} | usage 270 269 0 12)");
  expect("blocks that are never ended, and a delta without a beginning",
         start + begin(0, weather) + json(0, "{}") + text(7, "a") + reason("end_turn") + stop,
         "tool_use | call toolu_1 get_weather {} | text a" + usage);
}

TEST(AnthropicReply, DropsTheCallsOfACutOffReply) {
  for (const auto& [said, means] : {std::pair{"max_tokens", "max_tokens"},
                                    {"refusal", "refusal"},
                                    {"model_context_window_exceeded", "context_overflow"}})
    expect(said,
           start + begin(0, text_block) + text(0, "a") + begin(1, weather) + json(1, "{}") +
               begin(2, time_call) + json(2, "{\\\"x") + reason(said) + stop,
           std::string(means) + " | text a" + usage);
}

TEST(AnthropicReply, DecidesByTheContentToo) {
  expect("calls, whatever it says",
         start + begin(0, weather) + reason("end_turn") + stop,
         "tool_use | call toolu_1 get_weather {}" + usage);
  expect("tool_use without a call",
         start + begin(0, text_block) + text(0, "a") + reason("tool_use") + stop,
         "end_turn | text a" + usage);
  expect("tool_use without anything", start + reason("tool_use") + stop, "other" + usage);
  expect("a reason that we do not know",
         start + begin(0, text_block) + text(0, "a") + reason("zzz") + stop,
         "end_turn | text a" + usage);
  expect("a paused turn",
         start + begin(0, text_block) + text(0, "a") + reason("pause_turn") + stop,
         "pause_turn | text a" + usage);
  expect("no reason", start + begin(0, text_block) + text(0, "a") + stop, "end_turn | text a | usage ?");
}

TEST(AnthropicReply, BoundsCallsBlocksAndBytes) {
  std::string bytes = start;
  for (int i = 0; i < 66; ++i)
    bytes += begin(i, R"({"type":"tool_use","id":")" + std::to_string(i) + R"(","name":"f"})");
  const auto parser = make_reply_parser(Protocol::anthropic);
  const auto many = testing::play(*parser, {bytes, reason("tool_use"), stop}, ended(200));
  const auto& content = std::get<ModelReply>(many.outcome).content;
  ASSERT_EQ(content.size(), 66u);
  EXPECT_EQ(content[63].args_error, "");
  EXPECT_EQ(content[64].args_error, "only the first 64 calls of a reply are taken, this is number 65");

  bytes = start;
  for (std::size_t i = 0; i <= limits::reply_blocks_max; ++i)
    bytes += begin(0, text_block);
  EXPECT_EQ(testing::line(testing::play(*parser, {bytes, reason("end_turn"), stop}, ended(200))),
            "failed transient (produced): unreadable reply: more than 1024 blocks");

  const std::string filler = ":" + std::string(1'000'000, 'x') + "\n";
  std::vector<std::string_view> pieces(17, filler);
  EXPECT_EQ(testing::line(testing::play(*parser, pieces, ended(200))),
            "failed permanent: unreadable reply: longer than 16777216 bytes");
}

TEST(AnthropicReply, SaysWhenItIsWhole) {
  const auto parser = make_reply_parser(Protocol::anthropic);
  EXPECT_EQ(testing::play(*parser, {start, reason("end_turn"), stop}, ended(200)).progress,
            ReplyParser::Progress::whole);
  EXPECT_EQ(testing::play(*parser, {start, reason("end_turn")}, ended(200)).progress,
            ReplyParser::Progress::more);
}

}  // namespace
}  // namespace ratchet
