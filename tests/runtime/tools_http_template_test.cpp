#include <gtest/gtest.h>

#include "runtime/limits.hpp"
#include "runtime/tools/http_template.hpp"
#include "runtime/tools/url.hpp"

namespace ratchet {
namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// A schema with required properties a, b (of any type) and an optional one o; all in a request of `fields`.
ToolManifest tool(std::string_view http, std::string_view more = "") {
  auto parsed = parse_manifest(R"({"name":"t","description":"d","kind":"http","side_effects":"none",
      "network":{"allow":["h.example:443"]},
      "input_schema":{"type":"object","required":["a","b"],"properties":{"a":true,"b":true,"o":true}},
      "http":)" + std::string(http) +
                               std::string(more) + "}");
  EXPECT_TRUE(parsed) << http << ": " << (parsed ? "" : parsed.error().pointer + ": " + parsed.error().text);
  return parsed ? *parsed : ToolManifest();
}

std::string url(const ToolManifest& tool, std::string_view args) {
  const auto call = render_call(tool, args, "key");
  return call ? call->url : "refused: " + call.error().text;
}

std::string body(const ToolManifest& tool, std::string_view args) {
  const auto call = render_call(tool, args, "key");
  return call ? call->body : "refused: " + call.error().text;
}

TEST(HttpTemplate, SendsTheArgumentsWhereNoBodyIsGiven) {
  const auto call =
      render_call(tool(R"({"url":"https://h.example/x"})"), R"({"b":[1.0],"a":"\u00fc"})", "key");
  ASSERT_TRUE(call);
  EXPECT_EQ(call->method, "POST");
  EXPECT_EQ(call->url, "https://h.example/x");
  EXPECT_EQ(call->body, "{\"a\":\"\xC3\xBC\",\"b\":[1]}");
  EXPECT_EQ(call->headers, (Headers{{"Content-Type", "application/json"}}));
  EXPECT_EQ(call->timeout_ms, 10'000);
  EXPECT_EQ(call->network_allow, std::vector<std::string>{"h.example:443"});
  EXPECT_EQ(call->reply_bytes_max, limits::artifact_bytes_max);
}

TEST(HttpTemplate, SendsTheKeyOfToolsThatTakeOne) {
  const std::string_view http =
      R"({"url":"https://h.example/x","headers":{"content-TYPE":"application/x+json"}})";
  const std::string_view args = R"({"a":1,"b":2})";
  EXPECT_EQ(render_call(tool(http), args, "r/1/c")->headers,
            (Headers{{"content-TYPE", "application/x+json"}}));
  const Headers with_key = {{"content-TYPE", "application/x+json"}, {"Idempotency-Key", "r/1/c"}};
  EXPECT_EQ(render_call(tool(http, R"(,"idempotency":"key")"), args, "r/1/c")->headers, with_key);
  EXPECT_EQ(
      render_call(tool(http, R"(,"idempotency":"status_check","status_check":{"url":"https://h.example/s"})"),
                  args,
                  "r/1/c")
          ->headers,
      with_key);
}

TEST(HttpTemplate, AsksForTheStatusByKeyAndCall) {
  const auto call = render_status_check(tool(R"({"url":"https://h.example/x"})",
                                             R"(,"idempotency":"status_check",
               "status_check":{"url":"https://h.example/{{/a}}/{{idempotency_key}}?call={{call_id}}&o={{/o}}",
                               "headers":{"Accept":"application/json"}})"),
                                        R"({"a":"x y","b":2})",
                                        "run_1/2/call_3",
                                        "call_3");
  ASSERT_TRUE(call);
  EXPECT_EQ(call->method, "GET");
  EXPECT_EQ(call->url, "https://h.example/x%20y/run_1%2F2%2Fcall_3?call=call_3");
  EXPECT_EQ(call->body, "");
  EXPECT_EQ(call->headers, (Headers{{"Accept", "application/json"}}));
}

TEST(HttpTemplate, ArgumentsStayValuesInAUrl) {
  const auto get = tool(R"({"method":"GET","url":"https://h.example/v1/{{/a}}/r-{{/b}}?fixed=1&q={{/o}}"})");
  const std::pair<std::string_view, std::string_view> cases[] = {
      {R"({"a":"x","b":1})", "https://h.example/v1/x/r-1?fixed=1"},
      {R"({"a":true,"b":1.5,"o":""})", "https://h.example/v1/true/r-1.5?fixed=1&q="},
      {R"({"a":"a/b?c#d&e=f","b":"%2e","o":"1&admin=1#x"})",
       "https://h.example/v1/a%2Fb%3Fc%23d%26e%3Df/r-%252e?fixed=1&q=1%26admin%3D1%23x"},
      {R"({"a":"@evil.example","b":":80","o":"a b+c\n"})",
       "https://h.example/v1/%40evil.example/r-%3A80?fixed=1&q=a%20b%2Bc%0A"},
      {"{\"a\":\"\xF0\x9F\x94\xA5\",\"b\":\"..\"}", "https://h.example/v1/%F0%9F%94%A5/r-..?fixed=1"},
      {R"({"a":"..","b":1})", "refused: '..' cannot stand in the path of a URL"},
      {R"({"a":".","b":1})", "refused: '.' cannot stand in the path of a URL"},
      {R"({"a":"../admin","b":1})", "refused: '../admin' cannot stand in the path of a URL"},
      {R"({"a":"x\\..","b":1})", "refused: 'x\\..' cannot stand in the path of a URL"},
      {R"({"a":"x","b":"1/../.."})", "refused: 'r-1/../..' cannot stand in the path of a URL"},
      {R"({"a":"","b":1})",
       "refused: /a: it stands in the path of a URL: it cannot be empty or have control characters"},
      {R"({"a":"x\u0000","b":1})",
       "refused: /a: it stands in the path of a URL: it cannot be empty or have control characters"},
      {R"({"a":"x\r\nHost: evil","b":1})",
       "refused: /a: it stands in the path of a URL: it cannot be empty or have control characters"},
      {R"({"a":["x"],"b":1})",
       "refused: /a: the URL of this tool takes a string, a number or a boolean, not an array"},
      {R"({"a":null,"b":1})",
       "refused: /a: the URL of this tool takes a string, a number or a boolean, not null"},
      {R"({"b":1})", "refused: /a: the URL of this tool needs it"},
      {R"([])", "refused: expected an object, found an array"},
  };
  for (const auto& [args, expected] : cases)
    EXPECT_EQ(url(get, args), expected) << args;
  EXPECT_EQ(url(get, R"({"b":1,"a":")" + std::string(limits::url_bytes_max, 'x') + "\"}"),
            "refused: not a URL that is taken: it is too long");
}

TEST(HttpTemplate, DotsOfTwoPlacesDoNotMakeASegment) {
  EXPECT_EQ(url(tool(R"({"method":"DELETE","url":"https://h.example/{{/a}}{{/b}}?o={{/o}}"})"),
                R"({"a":".","b":"."})"),
            "refused: '..' cannot stand in the path of a URL");
}

TEST(HttpTemplate, FillsABody) {
  const auto post = tool(
      R"({"url":"https://h.example/","body":{"all":"{{/a}}","text":"<{{/a}}> {{/b}}","o":"{{/o}}","l":["x",1,{"y":"{{/b}}"}]}})");
  const std::pair<std::string_view, std::string_view> cases[] = {
      {R"({"a":"q\"\\\n","b":[2]})", R"({"all":"q\"\\\n","l":["x",1,{"y":[2]}],"text":"<q\"\\\n> [2]"})"},
      {R"({"a":{"k":"v"},"b":"\",\"admin\":true","o":null})",
       R"({"all":{"k":"v"},"l":["x",1,{"y":"\",\"admin\":true"}],"o":null,"text":"<{\"k\":\"v\"}> \",\"admin\":true"})"},
      {R"({"a":"{{/b}}","b":"{{/a}}"})",
       R"({"all":"{{/b}}","l":["x",1,{"y":"{{/a}}"}],"text":"<{{/b}}> {{/a}}"})"},
      {R"({"a":1})", "refused: /b: the request of this tool needs it"},
  };
  for (const auto& [args, expected] : cases)
    EXPECT_EQ(body(post, args), expected) << args;
}

TEST(HttpTemplate, BoundsWhatManyPlacesMake) {
  std::string items;
  for (std::size_t i = 0; i < limits::template_places_max - 2; ++i)
    items += R"("{{/a}}",)";
  const auto post = tool(R"({"url":"https://h.example/","body":[)" + items + R"("{{/b}}",{"o":"{{/o}}"}]})");
  const auto call = render_call(
      post, R"({"b":1,"a":")" + std::string(limits::connector_body_bytes_max / 8, 'x') + "\"}", "key");
  ASSERT_FALSE(call);
  EXPECT_EQ(call.error().code, ErrorCode::too_large);
}

TEST(HttpTemplate, RefusesAtRegistration) {
  const std::tuple<std::string_view, std::string_view, std::string_view> cases[] = {
      {R"({"url":"https://{{/a}}.h.example/"})", "/http/url", "host"},
      {R"({"url":"https://h.example:{{/a}}/"})", "/http/url", "port"},
      {R"({"url":"https://h.example{{/a}}/x"})", "/http/url", "host"},
      {R"({"url":"{{/a}}://h.example/"})", "/http/url", "http"},
      {R"({"url":"https://{{/a}}@h.example/"})", "/http/url", "credentials do not stand"},
      {R"({"url":"https://user@h.example/"})", "/http/url", "credentials do not stand"},
      {R"({"url":"https://h.example\\@evil.example/"})", "/http/url", "credentials do not stand"},
      {R"({"url":"ftp://h.example/"})", "/http/url", "http://"},
      {R"({"url":"//h.example/"})", "/http/url", "http://"},
      {R"({"url":"https://h.example/#x"})", "/http/url", "fragment"},
      {R"({"url":"https://h.example/a b"})", "/http/url", "percent-encoded"},
      {R"({"url":"https://h.example/%zz"})", "/http/url", "hex"},
      {R"({"url":"https://h.example/%2"})", "/http/url", "hex"},
      {R"({"url":"https://h.example/a/../b"})", "/http/url", "segment"},
      {R"({"url":"https://h.example/a/%2E%2e/b"})", "/http/url", "segment"},
      {R"({"url":"https://h.example:0/"})", "/http/url", "port"},
      {R"({"url":"https://h.example:65536/"})", "/http/url", "port"},
      {R"({"url":"http://h.example/"})", "/http/url", "h.example:80 is not among"},
      {R"({"url":"https://h.example.evil/"})", "/http/url", "not among"},
      {R"({"url":"https://h.example/{{/x}}"})", "/http/url", "does not name /x"},
      {R"({"url":"https://h.example/{{/o}}"})", "/http/url", "does not require it"},
      {R"({"url":"https://h.example/?{{/a}}=1"})", "/http/url", "value of a parameter"},
      {R"({"url":"https://h.example/?{{/a}}"})", "/http/url", "value of a parameter"},
      {R"({"url":"https://h.example/?q=-{{/o}}"})", "/http/url", "does not require it"},
      {R"({"url":"https://h.example/{{a}}"})", "/http/url", "no place {{a}}"},
      {R"({"url":"https://h.example/{{idempotency_key}}"})", "/http/url", "no place {{idempotency_key}}"},
      {R"({"url":"https://h.example/{{}}"})", "/http/url", "not a place"},
      {R"({"url":"https://h.example/{{/a"})", "/http/url", "not closed"},
      {R"({"url":"https://h.example/{{/~}}"})", "/http/url", "not a place"},
      {R"({"url":"https://h.example/","body":{"x":"{{/a}} {{/o}}"}})", "/http/body/x", "does not require it"},
      {R"({"url":"https://h.example/","body":{"x":["{{/o}}"]}})", "/http/body/x/0", "does not require it"},
      {R"({"url":"https://h.example/","body":{"x":"{{/recipents}}"}})", "/http/body/x", "does not name"},
      {R"({"url":"https://h.example/","body":{"{{/a}}":1}})", "/http/body/{{~1a}}", "key"},
      {R"({"url":"https://h.example/","body":{"x":"{{/a}}"}})", "/http", "argument b is sent nowhere"},
      {R"({"method":"GET","url":"https://h.example/{{/a}}/{{/b}}"})", "/http", "argument o is sent nowhere"},
      {R"({"url":"https://h.example/","headers":{"Host":"x"}})", "/http/headers/Host", "host"},
      {R"({"url":"https://h.example/","headers":{"authorization":"x"}})",
       "/http/headers/authorization",
       "carries a secret"},
      {R"({"url":"https://h.example/","headers":{"Idempotency-Key":"x"}})",
       "/http/headers/Idempotency-Key",
       "cannot be"},
      {R"({"url":"https://h.example/","headers":{"Content-Length":"1"}})",
       "/http/headers/Content-Length",
       "cannot be"},
      {R"({"url":"https://h.example/","headers":{"Transfer-Encoding":"x"}})",
       "/http/headers/Transfer-Encoding",
       "cannot be"},
      {R"({"url":"https://h.example/","headers":{"X":"a\r\nHost: b"}})", "/http/headers/X", "one line"},
      {R"({"url":"https://h.example/","headers":{"X":"a\u0000"}})", "/http/headers/X", "one line"},
      {R"({"url":"https://h.example/","headers":{"X: y":"a"}})", "/http/headers/X: y", "name of a header"},
      {R"({"url":"https://h.example/","headers":{"":"a"}})", "/http/headers/", "name of a header"},
      {R"({"url":"https://h.example/","headers":{"X-a":"1","x-A":"2"}})", "/http/headers/x-A", "twice"},
  };
  for (const auto& [http, pointer, text] : cases) {
    const auto parsed = parse_manifest(R"({"name":"t","description":"d","kind":"http","side_effects":"none",
        "network":{"allow":["h.example:443"]},
        "input_schema":{"type":"object","required":["a","b"],"properties":{"a":true,"b":true,"o":true}},
        "http":)" + std::string(http) + "}");
    ASSERT_FALSE(parsed) << http;
    EXPECT_EQ(parsed.error().pointer, pointer) << http << ": " << parsed.error().text;
    EXPECT_NE(parsed.error().text.find(text), std::string::npos) << http << ": " << parsed.error().text;
  }
}

TEST(Url, ReadsEndpoints) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"http://h.example", "h.example:80"},
      {"https://H.Example/x", "h.example:443"},
      {"http://127.0.0.1:8080?x=/:9", "127.0.0.1:8080"},
      {"http://[::1]:81/", "[::1]:81"},
      {"https://[2001:db8::1]", "[2001:db8::1]:443"},
      {"http://a:1/@b:2", "a:1"},
  };
  for (const auto& [text, endpoint] : cases) {
    const auto read = parse_url(text);
    ASSERT_TRUE(read) << text << ": " << read.error().text;
    EXPECT_EQ(read->endpoint(), endpoint) << text;
    EXPECT_TRUE(is_endpoint(endpoint)) << endpoint;
  }
  for (const std::string_view text : {"",
                                      "http://",
                                      "http:///x",
                                      "http://:80/",
                                      "http://h:/",
                                      "http://h:080/",
                                      "http://h:1x/",
                                      "http://a..b/",
                                      "http://-a/",
                                      "http://.a/",
                                      "http://::1/",
                                      "http://[::1/",
                                      "http://[]/",
                                      "http://[::1]x/",
                                      "http://a b/",
                                      "http://a%2eb/",
                                      "HTTP://h/",
                                      "http:/h/",
                                      "javascript:1",
                                      "http://h\n/",
                                      "http://h/\x7F",
                                      "http://h/\xC3\xBC"})
    EXPECT_FALSE(parse_url(text)) << text;
  for (const std::string_view text :
       {"", "h", "h:", "h:0", ":80", "H:80", "h:80:80", "http://h:80", "h:65536", "::1:80"})
    EXPECT_FALSE(is_endpoint(text)) << text;
}

}  // namespace
}  // namespace ratchet
