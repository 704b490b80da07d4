// Canned streams of the Chat Completions API. The numbers of the odd cases are those of the list that the
// wire codecs were written against: each was seen on a server.

#include <string>

#include <gtest/gtest.h>

#include "tests/runtime/model_replies.hpp"

namespace ratchet {
namespace {

using testing::ended;
using testing::expect_reply;

std::string data(const std::string& json) {
  return "data: " + json + "\n\n";
}

std::string choice(const std::string& inside) {
  return data(
      R"({"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,)" +
      inside + R"(}],"usage":null})");
}

std::string delta(const std::string& body) {
  return choice(R"("delta":)" + body + R"(,"finish_reason":null)");
}

std::string text(const std::string& escaped) {
  return delta(R"({"content":")" + escaped + "\"}");
}

/// One list of pieces of calls.
std::string calls(const std::string& pieces) {
  return delta(R"({"tool_calls":[)" + pieces + "]}");
}

std::string finish(const std::string& reason) {
  return choice(R"("delta":{},"finish_reason":")" + reason + "\"");
}

const std::string start = delta(R"({"role":"assistant","content":""})");
const std::string used = data(
    R"({"choices":[],"usage":{"prompt_tokens":120,"completion_tokens":30,"total_tokens":150,"prompt_tokens_details":{"cached_tokens":100,"cache_write_tokens":5}}})");
const std::string done = "data: [DONE]\n\n";
const std::string usage = " | usage 120 100 5 30";

void expect(std::string_view what, const std::string& bytes, const std::string& expected) {
  expect_reply(Protocol::openai, what, bytes, expected);
}

/// The same with a whole end.
void expect_calls(std::string_view what, const std::string& pieces, const std::string& expected) {
  expect(what, start + pieces + finish("tool_calls") + used + done, "tool_use" + expected + usage);
}

TEST(OpenaiReply, ReadsTextAndCalls) {
  expect("text",
         start + text("Hel") + text("lo\\n\\u00e9") + finish("stop") + used + done,
         "end_turn | text Hello\né" + usage);
  expect_calls(
      "two calls, as OpenAI sends them",
      text("Let me check.") +
          calls(
              R"({"index":0,"id":"call_1","type":"function","function":{"name":"get_weather","arguments":""}})") +
          calls(R"({"index":0,"function":{"arguments":"{\"ci"}})") +
          calls(R"({"index":0,"function":{"arguments":"ty\":\"Z\u00fcrich\"}"}})") +
          calls(
              R"({"index":1,"id":"call_2","type":"function","function":{"name":"get_time","arguments":""}})"),
      R"( | text Let me check. | call call_1 get_weather {"city":"Zürich"} | call call_2 get_time {})");
}

TEST(OpenaiReply, TakesABodyThatIsNotStreamed) {
  expect(
      "a body",
      R"({"id":"x","choices":[{"finish_reason":"tool_calls","index":0,"message":{"role":"assistant","content":null,)"
      R"("tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"b\": 1, \"a\": 2}"}},)"
      R"({"id":"call_2","type":"function","function":{"name":"g","arguments":""}}]}}],)"
      R"("usage":{"prompt_tokens":12,"completion_tokens":3},"timings":{"prompt_n":1}})",
      R"(tool_use | call call_1 f {"a":2,"b":1} | call call_2 g {} | usage 12 0 0 3)");
  expect(
      "parts instead of a string",
      R"({"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]},"finish_reason":"stop"}]})",
      "end_turn | text ab | usage ?");
  expect("an empty turn",
         R"({"choices":[{"message":{"content":""},"finish_reason":"stop"}]})",
         "end_turn | usage ?");
  expect("no reason to stop", R"({"choices":[{"message":{"content":"a"}}]})", "end_turn | text a | usage ?");
  expect("lines of JSON, as no server of this API sends them",
         "{\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n{\"choices\":[]}\n",
         "failed transient (produced): unreadable reply: Unexpected trailing content in the JSON input.");
  expect("an error with status 200",
         R"({"error":{"message":"no","type":"invalid_request_error","code":null}})",
         "failed rejected: error in the stream invalid_request_error: no");
  expect("no reply at all", R"({"choices":[]})", R"(failed transient: error in the stream: {"choices":[]})");
  expect_reply(Protocol::openai,
               "a body that breaks off",
               R"({"choices":[{"message":{"content":"a"}}]})",
               "failed transient: reset after 41 bytes of the reply",
               ended(200, "reset"));
}

TEST(OpenaiReply, Case1AccumulatesSingleCharacters) {
  std::string pieces = calls(R"({"index":0,"id":"a","function":{"name":"f","arguments":""}})") +
                       calls(R"({"index":1,"id":"b","function":{"name":"g","arguments":""}})");
  for (const char c : std::string("{'x':'y'}"))
    for (const auto* index : {"0", "1"})
      pieces += calls(std::string(R"({"index":)") + index + R"(,"function":{"arguments":")" +
                      (c == '\'' ? "\\\"" : std::string(1, c)) + "\"}}");
  expect_calls("interleaved", pieces, R"( | call a f {"x":"y"} | call b g {"x":"y"})");
}

TEST(OpenaiReply, Case2FindsTheCallWithoutAnIndex) {
  expect_calls("by id",
               calls(R"({"id":"a","function":{"name":"f","arguments":"{\"x\""}})") +
                   calls(R"({"id":"b","function":{"name":"g","arguments":"{\"y\""}})") +
                   calls(R"({"id":"a","function":{"arguments":":1}"}})") +
                   calls(R"({"id":"b","function":{"arguments":":2}"}})"),
               R"( | call a f {"x":1} | call b g {"y":2})");
  expect_calls("by nothing: the last one",
               calls(R"({"id":"a","function":{"name":"f","arguments":"{\"x\""}})") +
                   calls(R"({"function":{"arguments":":1}"}})") +
                   calls(R"({"id":"b","function":{"name":"g","arguments":"{"}})") +
                   calls(R"({"function":{"arguments":"}"}})"),
               R"( | call a f {"x":1} | call b g {})");
}

TEST(OpenaiReply, Case3TellsCallsWithOneIndexApart) {
  expect_calls("new id, new call",
               calls(R"({"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}})") +
                   calls(R"({"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":"}})") +
                   calls(R"({"index":0,"function":{"arguments":"2}"}})"),
               R"( | call a f {"x":1} | call b f {"x":2})");
  expect_calls("both in one list",
               calls(R"({"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},)"
                     R"({"index":0,"id":"b","function":{"name":"f","arguments":"{}"}})"),
               " | call a f {} | call b f {}");
}

TEST(OpenaiReply, Case4TakesCallsWithoutAnId) {
  expect_calls("other names",
               calls(R"({"index":0,"function":{"name":"f","arguments":"{}"}})") +
                   calls(R"({"index":0,"function":{"name":"g","arguments":"{\"a\":1}"}})"),
               R"( | call - f {} | call - g {"a":1})");
  expect_calls("the same name in one list",
               calls(R"({"function":{"name":"f","arguments":""}},{"function":{"name":"f","arguments":""}})"),
               " | call - f {} | call - f {}");
  expect_calls("the same name with whole arguments",
               calls(R"({"index":0,"function":{"name":"f","arguments":"{\"a\":1}"}})") +
                   calls(R"({"index":0,"function":{"name":"f","arguments":"{\"a\":2}"}})"),
               R"( | call - f {"a":1} | call - f {"a":2})");
  expect_calls("the name again, but inside of a string",
               calls(R"({"index":0,"function":{"name":"f","arguments":"{\"a\":\"}"}})") +
                   calls(R"({"index":0,"function":{"name":"f","arguments":"{\"}"}})"),
               R"( | call - f {"a":"}{"})");
}

TEST(OpenaiReply, Case5TakesTheFirstNameAndIdThatAreNotEmpty) {
  expect_calls("repeated with every piece",
               calls(R"({"index":0,"id":"a","function":{"name":"f","arguments":"{"}})") +
                   calls(R"({"index":0,"id":"a","function":{"name":"f","arguments":"}"}})"),
               " | call a f {}");
  expect_calls("repeated without an id",
               calls(R"({"index":0,"function":{"name":"f","arguments":"{\"a\""}})") +
                   calls(R"({"index":0,"function":{"name":"f","arguments":":1}"}})") +
                   calls(R"({"index":0,"function":{"name":"f","arguments":" "}})"),
               R"( | call - f {"a":1})");
  expect_calls("the name and the id come last",
               calls(R"({"index":0,"id":"","function":{"name":"","arguments":"{\"a\""}})") +
                   calls(R"({"index":0,"function":{"arguments":":1}"}})") +
                   calls(R"({"index":0,"id":"a","function":{"name":"f","arguments":null}})"),
               R"( | call a f {"a":1})");
}

TEST(OpenaiReply, Case6TakesEmptyArgumentsAsAnEmptyObject) {
  for (const auto* arguments :
       {R"(,"arguments":"")", R"(,"arguments":null)", "", R"(,"arguments":" \n")", R"(,"arguments":{})"})
    expect_calls(arguments,
                 calls(std::string(R"({"index":0,"id":"a","function":{"name":"f")") + arguments + "}}"),
                 " | call a f {}");
  expect_calls("an object instead of a string",
               calls(R"({"index":0,"id":"a","function":{"name":"f","arguments":{"b": [1,"]"], "a":null} }})"),
               R"( | call a f {"a":null,"b":[1,"]"]})");
}

TEST(OpenaiReply, Case7And8RefusesArgumentsThatAreNoObject) {
  const std::string wrong = " (the arguments are not one JSON object: ";
  for (const auto& [arguments, shown] :
       {std::pair<std::string, std::string>{
            R"({\"a\":)",
            "{\"a\":" + wrong + "line 1, column 6: expected a value, found the end of the text)"},
        {"null", "null" + wrong + "expected an object, found null)"},
        {"[]", "[]" + wrong + "expected an object, found an array)"},
        {R"({\"a\":1}x)",
         "{\"a\":1}x" + wrong + "line 1, column 8: expected nothing after the value, found \"x\")"}})
    expect_calls(arguments,
                 calls(R"({"index":0,"id":"a","function":{"name":"f","arguments":")" + arguments + "\"}}"),
                 " | call a f " + shown);
  expect_calls("a number instead of a string",
               calls(R"({"index":0,"id":"a","function":{"name":"f","arguments": 12 }})"),
               " | call a f 12" + wrong + "expected an object, found a number)");
}

TEST(OpenaiReply, Case9JoinsWhatIsCutInsideOfACharacter) {
  expect("a pair of surrogates over two chunks",
         start + text("é\U0001F600\\ud83d") + text("\\ude00!") + text("\\ud83d") + text("x") +
             finish("stop") + used + done,
         "end_turn | text é\U0001F600\U0001F600!\uFFFDx" + usage);
}

TEST(OpenaiReply, Case11To13And16ReadsEveryFormOfStream) {
  expect("comments, keep-alives, a prelude without choices",
         ": OPENROUTER PROCESSING\n\n:\n\ndata: : keepalive\n\n" +
             data(R"({"choices":[],"prompt_filter_results":[{"prompt_index":0}]})") + start + text("a") +
             finish("stop") + used + done,
         "end_turn | text a" + usage);
  expect("no [DONE]", start + text("a") + finish("stop") + used, "end_turn | text a" + usage);
  expect("data after [DONE]",
         start + text("a") + finish("stop") + used + done + text("b") + "data: {\n\n",
         "end_turn | text a" + usage);
  expect("no line end after [DONE]",
         start + text("a") + finish("stop") + used + "data: [DONE]",
         "end_turn | text a" + usage);
  expect("[DONE] without a reason", start + text("a") + done, "end_turn | text a | usage ?");
  expect(
      "[DONE] without anything",
      start + done,
      "failed transient: no model's reply: data: "
      R"({"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null} data: [DONE])");
}

TEST(OpenaiReply, Case14And15TakesUsageWhereverItIs) {
  expect("none", start + text("a") + finish("stop") + done, "end_turn | text a | usage ?");
  expect(
      "in every chunk, and null in the end",
      data(R"({"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":7,"completion_tokens":1}})") +
          data(
              R"({"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":2}})") +
          data(R"({"choices":[],"usage":null})") + done,
      "end_turn | text ab | usage 7 0 0 2");
  expect(
      "inside of the choice",
      data(
          R"({"choices":[{"delta":{"content":"a"},"finish_reason":"stop","usage":{"prompt_tokens":7,"completion_tokens":1.0}}]})"),
      "end_turn | text a | usage 7 0 0 1");
  expect("all zero says nothing",
         start + text("a") + finish("stop") +
             data(R"({"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}})"),
         "end_turn | text a | usage ?");
  expect(
      "more cached than there was",
      start + text("a") + finish("stop") +
          data(
              R"({"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":9,"cache_write_tokens":9}}})"),
      "end_turn | text a | usage 5 5 0 1");
}

TEST(OpenaiReply, Case17And18FailsAReplyThatDoesNotEnd) {
  const auto begun = start + text("a");
  expect("an error in the stream",
         begun + data(R"({"error":{"code":"slow_down","type":"server_error","message":"Slow down"}})") + done,
         "failed overloaded (produced): error in the stream server_error slow_down: Slow down");
  expect("an error event",
         begun + "event: error\n" + data(R"({"code":429,"message":"later"})"),
         "failed transient (produced): error in the stream: later");
  expect("it just ends", begun, "failed transient (produced): the reply ended before it was whole");
  expect_reply(Protocol::openai,
               "the connection breaks",
               begun,
               fmt::format("failed transient (produced): reset after {} bytes of the reply", begun.size()),
               ended(200, "reset"));
  expect_reply(Protocol::openai,
               "it breaks before [DONE]",
               begun + finish("stop"),
               "end_turn | text a | usage ?",
               ended(200, "reset"));
  expect("a chunk that is no JSON",
         begun + data("{\"choices\":[{\"delta\":}]}") + done,
         "failed transient (produced): unreadable reply: The JSON document has an improper structure: "
         "missing or "
         "superfluous commas, braces, missing keys, etc.");
  expect("a chunk that is no object",
         begun + data("[]") + done,
         "failed transient (produced): unreadable reply: The JSON element does not have the requested type.");
}

TEST(OpenaiReply, Case20TakesNullAndPartsAsContent) {
  expect(
      "as llama-server does it",
      delta(R"({"role":"assistant","content":null})") + delta(R"({"content":[{"type":"text","text":"a"}]})") +
          delta(R"({"content":"b","tool_calls":null,"refusal":null,"function_call":null})") +
          data(R"({"choices":[{"finish_reason":"stop","index":0,"delta":{}}],"timings":{"prompt_n":12}})") +
          used + done,
      "end_turn | text ab" + usage);
}

TEST(OpenaiReply, Case22And23KeepsTheOrderAndLeavesAUsedIdEmpty) {
  expect_calls("text around calls, one id for both",
               text("a") + calls(R"({"index":0,"id":"x","function":{"name":"f","arguments":"{}"}})") +
                   text("b") + calls(R"({"index":1,"id":"x","function":{"name":"g","arguments":"{}"}})") +
                   text("c"),
               " | text a | call x f {} | text b | call - g {} | text c");
}

TEST(OpenaiReply, KeepsThoughtsApart) {
  expect("reasoning_content",
         delta(R"({"reasoning_content":"Hm, "})") +
             delta(R"({"reasoning_content":"\"so\"","content":null})") + text("a") + finish("stop") + used +
             done,
         "end_turn | reasoning \"Hm, \\\"so\\\"\" | text a" + usage);
  expect("both names, the same text",
         delta(R"({"reasoning":"Hm","reasoning_content":"Hm","content":""})") + text("a") + finish("stop") +
             used + done,
         "end_turn | reasoning \"Hm\" | text a" + usage);
}

TEST(OpenaiReply, ReadsTheOldFormOfACall) {
  expect("function_call",
         delta(R"({"function_call":{"name":"f","arguments":""}})") +
             delta(R"({"function_call":{"arguments":"{\"a\""}})") +
             delta(R"({"function_call":{"arguments":":1}"}})") + finish("function_call") + used + done,
         R"(tool_use | call - f {"a":1})" + usage);
}

TEST(OpenaiReply, DropsTheCallsOfACutOffReply) {
  const auto both = calls(R"({"index":0,"id":"a","function":{"name":"f","arguments":"{}"}})") +
                    calls(R"({"index":1,"id":"b","function":{"name":"g","arguments":"{"}})");
  expect("length", start + text("a") + both + finish("length") + used + done, "max_tokens | text a" + usage);
  expect("content_filter", start + both + finish("content_filter") + used + done, "refusal" + usage);
  expect(
      "a refusal in words",
      start + delta(R"({"refusal":"I "})") + delta(R"({"refusal":"can't."})") + finish("stop") + used + done,
      "refusal | text I can't." + usage);
}

TEST(OpenaiReply, DecidesByTheContentToo) {
  const auto call = calls(R"({"index":0,"id":"a","function":{"name":"f","arguments":"{}"}})");
  for (const auto* reason : {"stop", "tool_call", "function_call", "zzz"})
    expect(reason, start + call + finish(reason) + used + done, "tool_use | call a f {}" + usage);
  expect("an empty reason with every chunk",
         choice(R"("delta":{"content":"a"},"finish_reason":"")") +
             choice(R"("delta":{"content":"b"},"finish_reason":"")") + finish("stop") +
             choice(R"("delta":{},"finish_reason":"")") + used + done,
         "end_turn | text ab" + usage);
  expect(
      "another choice is not ours",
      data(
          R"({"choices":[{"index":1,"delta":{"content":"x"},"finish_reason":"length"},{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]})") +
          used + done,
      "end_turn | text a" + usage);
}

}  // namespace
}  // namespace ratchet
