#include "runtime/tools/builtin_http_get.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratchet {
namespace {

using testing::HasSubstr;

const ToolManifest& tool() {
  return *find_builtin("http_get");
}

TEST(HttpGet, AsksForAPageOfAListedEndpoint) {
  ASSERT_TRUE(is_http_get(tool()));
  const auto call =
      http_get_request(tool(), R"({"url":"https://Docs.Example/a?b=c"})", {"docs.example:443", "x:1"});
  ASSERT_TRUE(call) << call.error().text;
  EXPECT_EQ(call->method, "GET");
  EXPECT_EQ(call->url, "https://Docs.Example/a?b=c");
  EXPECT_EQ(call->network_allow.size(), 2u);
  EXPECT_FALSE(call->trusted) << "a name that the model writes never leads to a private address";
  EXPECT_EQ(call->timeout_ms, 30'000);
  EXPECT_GT(call->reply_bytes_max, 0u);
}

TEST(HttpGet, TellsTheModelWhatItMayReach) {
  const std::vector<std::string> listed{"docs.example:443"};
  for (const char* url : {"http://docs.example/",
                          "https://docs.example:444/",
                          "https://evil.example/?docs.example:443",
                          "https://docs.example.evil/"}) {
    const auto call = http_get_request(tool(), std::string(R"({"url":")") + url + "\"}", listed);
    ASSERT_FALSE(call) << url;
    EXPECT_THAT(call.error().text, HasSubstr("it may reach docs.example:443.")) << url;
  }
  EXPECT_THAT(http_get_request(tool(), R"({"url":"https://docs.example/"})", {}).error().text,
              HasSubstr("lists no endpoint"));
}

TEST(HttpGet, RefusesWhatIsNoUrl) {
  for (const char* args : {"{}",
                           R"({"url":7})",
                           R"({"url":"ftp://docs.example/"})",
                           R"({"url":"https://user@docs.example/"})",
                           R"({"url":"https://docs.example/\nHost: x"})"})
    EXPECT_FALSE(http_get_request(tool(), args, {"docs.example:443"})) << args;
}

}  // namespace
}  // namespace ratchet
