// Whole requests, put together as the context does it, compared byte by byte with tests/golden/wire. Prompts
// are proven by their hash: a changed byte here needs a new assembler version. To write the files anew after
// such a change, run this test with RATCHET_WRITE_GOLDEN=1.

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <gtest/gtest.h>

#include "runtime/model/wire.hpp"

namespace ratchet {
namespace {

namespace json = boost::json;

ProviderConfig provider(Protocol protocol) {
  ProviderConfig config;
  config.protocol = protocol;
  config.base_url = "http://127.0.0.1:9/v1";
  config.model = "a \"model\"";
  return config;
}

ReplyBlock text(std::string said) {
  ReplyBlock block;
  block.text = std::move(said);
  return block;
}

ReplyBlock thoughts(std::string raw) {
  ReplyBlock block;
  block.type = ReplyBlockType::reasoning;
  block.text = std::move(raw);
  return block;
}

ReplyBlock call(std::string call_id, std::string provider_id, std::string tool, std::string args) {
  ReplyBlock block;
  block.type = ReplyBlockType::call;
  block.call_id = std::move(call_id);
  block.provider_id = std::move(provider_id);
  block.tool = std::move(tool);
  block.args = std::move(args);
  return block;
}

Block artifact() {
  Block block;
  block.artifact =
      ArtifactRef{ArtifactId{*parse_ulid("01JDYN3Q5M0000000000000001")}, 1, 123'456, {}, "first lines\n"};
  return block;
}

Block image() {
  return Block{BlockType::image, "aW1hZ2U=", "image/png", {}};
}

const std::vector<WireTool> tools = {
    {"get_time", "The time, now.", R"({"type":"object"})"},
    {"get_weather",
     "Says \"rain\".",
     R"({"properties":{"city":{"type":"string"}},"required":["city"],"type":"object"})"}};

/// A body under construction, with marks inserted or not.
struct Assembly {
  bool with_marks = false;
  bool comma = false;
  std::string bytes = {};

  void head(WirePiece piece) { bytes = inserted(std::move(piece)); }

  void message(WirePiece piece) {
    if (piece.bytes.empty()) return;
    if (comma) bytes += ',';
    bytes += inserted(std::move(piece));
    comma = true;
  }

  std::string inserted(WirePiece piece) const {
    EXPECT_TRUE(std::is_sorted(piece.marks.begin(), piece.marks.end()));
    if (with_marks)
      for (auto mark = piece.marks.rbegin(); mark != piece.marks.rend(); ++mark)
        piece.bytes.insert(*mark, cache_mark);
    return piece.bytes;
  }
};

/// A conversation with everything in it.
std::string everything(const ProviderConfig& config, bool reasoning, bool with_marks) {
  ModelSettings settings{0, "0.20", "0.9", "40", "7"};
  const std::vector<std::string> sampling = {"seed", "temperature"};
  Assembly body{with_marks};
  body.head(render_head(config, settings, sampling, "You are careful.\nSay \"no\" — often.", tools));
  body.message(
      render_user(config.protocol, {Block{BlockType::text, "Weather?\u2028", {}, {}}, image(), artifact()}));
  auto broken = call("c1-2", "call_2", "get_time", "{\"a\":");
  broken.args_error = "cut off";
  body.message(
      render_assistant(config,
                       std::vector{thoughts(R"({"type":"thinking","thinking":"Hm","signature":"c2ln"})"),
                                   text("Let me "),
                                   text(" \n"),
                                   text("check."),
                                   call("c1-1", "call_1", "get_weather", R"({"city":"Zürich"})"),
                                   broken,
                                   call("c1-3", "", "get_time", "{}"),
                                   call("c1-4", "functions.f:0", "Mail.Send/Now", "{}")},
                       reasoning));
  const Content sunny = text_content("21 °C\tsunny"), nothing, failed = text_content("no such\ntool"),
                picture = {Block{BlockType::text, "here:", {}, {}}, image()};
  body.message(render_tool_results(config.protocol,
                                   std::vector<WireResult>{{"c1-1", "call_1", &sunny, false},
                                                           {"c1-2", "call_2", &nothing, true},
                                                           {"c1-3", "", &picture, false},
                                                           {"c1-4", "functions.f:0", &failed, true}}));
  body.message(render_user(config.protocol, text_content("And now?")));
  body.message(render_assistant(config, std::vector{thoughts("\"a Chat server's\"")}, true));
  body.message(render_user(config.protocol, {}));
  return body.bytes + render_tail(config, 4'096, "It is 8:15.", true);
}

/// The least there can be.
std::string little(const ProviderConfig& config) {
  Assembly body;
  body.head(render_head(config, {}, {}, "", {}));
  body.message(render_user(config.protocol, text_content("Hi")));
  return body.bytes + render_tail(config, 1, "", true);
}

void expect_golden(const std::string& name, const std::string& body) {
  const std::string path = std::string(RATCHET_SOURCE_DIR) + "/tests/golden/wire/" + name + ".json";
  if (std::getenv("RATCHET_WRITE_GOLDEN")) std::ofstream(path, std::ios::binary) << body << '\n';
  std::ifstream file(path, std::ios::binary);
  const std::string golden{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(body + '\n', golden) << path;
}

json::value parsed(const std::string& body) {
  boost::system::error_code error;
  auto value = json::parse(body, error);
  EXPECT_FALSE(error) << error.message() << ": " << body;
  return value;
}

std::vector<std::string> roles(const json::value& body) {
  std::vector<std::string> out;
  for (const auto& message : body.at("messages").as_array())
    out.emplace_back(message.at("role").as_string());
  return out;
}

std::vector<std::string> keys(const json::value& object) {
  std::vector<std::string> out;
  for (const auto& member : object.as_object())
    out.emplace_back(member.key());
  return out;
}

TEST(Wire, IsWhatItWas) {
  const auto anthropic = provider(Protocol::anthropic), openai = provider(Protocol::openai);
  expect_golden("anthropic", everything(anthropic, true, false));
  expect_golden("anthropic_marked", everything(anthropic, true, true));
  expect_golden("anthropic_without_reasoning", everything(anthropic, false, false));
  expect_golden("anthropic_little", little(anthropic));
  expect_golden("openai", everything(openai, true, false));
  expect_golden("openai_little", little(openai));
  auto compatible = openai;
  compatible.max_tokens_field = "max_tokens";
  compatible.system_role = "developer";
  expect_golden("openai_compatible", everything(compatible, false, true));
}

TEST(Wire, TheScriptedProtocolHasTheFormOfOpenai) {
  EXPECT_EQ(everything(provider(Protocol::scripted), true, true),
            everything(provider(Protocol::openai), true, false));
}

TEST(Wire, AnthropicRequestsHaveTheShapeThatTheApiAsksFor) {
  const auto body = parsed(everything(provider(Protocol::anthropic), true, false));
  EXPECT_EQ(keys(body),
            (std::vector<std::string>{
                "model", "temperature", "seed", "tools", "system", "messages", "max_tokens", "stream"}));
  EXPECT_EQ(roles(body), (std::vector<std::string>{"user", "assistant", "user", "user", "user", "user"}));
  const auto& turn = body.at("messages").at(1).at("content").as_array();
  const auto& results = body.at("messages").at(2).at("content").as_array();
  std::vector<std::string> called, answered;
  for (const auto& block : turn)
    if (block.at("type") == "tool_use") {
      EXPECT_TRUE(block.at("input").is_object());
      called.emplace_back(block.at("id").as_string());
    }
  for (const auto& block : results) {
    EXPECT_EQ(block.at("type"), "tool_result");  // and nothing else in this message
    answered.emplace_back(block.at("tool_use_id").as_string());
  }
  EXPECT_EQ(called, (std::vector<std::string>{"call_1", "call_2", "c1-3", "c1-4"}));
  EXPECT_EQ(answered, called);
}

TEST(Wire, OpenaiRequestsHaveTheShapeThatTheApiAsksFor) {
  const auto body = parsed(everything(provider(Protocol::openai), true, false));
  EXPECT_EQ(keys(body),
            (std::vector<std::string>{"model",
                                      "temperature",
                                      "seed",
                                      "tools",
                                      "messages",
                                      "max_completion_tokens",
                                      "stream",
                                      "stream_options"}));
  EXPECT_EQ(
      roles(body),
      (std::vector<std::string>{
          "system", "user", "assistant", "tool", "tool", "tool", "tool", "user", "user", "user", "user"}));
  const auto& calls = body.at("messages").at(2).at("tool_calls").as_array();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(calls[i].at("id"), body.at("messages").at(3 + i).at("tool_call_id"));
    EXPECT_TRUE(parsed(std::string(calls[i].at("function").at("arguments").as_string())).is_object());
  }
}

TEST(Wire, MarksStandWhereTheApiTakesThem) {
  const auto body = parsed(everything(provider(Protocol::anthropic), true, true));
  const json::value mark = {{"type", "ephemeral"}};
  const auto marked = [&](const json::value& block) {
    const auto* control = block.as_object().if_contains("cache_control");
    return control && *control == mark;
  };
  EXPECT_FALSE(marked(body.at("tools").at(0)));
  EXPECT_TRUE(marked(body.at("tools").at(1)));
  EXPECT_TRUE(marked(body.at("system").at(0)));
  for (const std::size_t user : {0, 2, 3, 4})
    EXPECT_TRUE(marked(body.at("messages").at(user).at("content").as_array().back())) << user;
}

TEST(Wire, APrefixStaysAPrefix) {
  const auto config = provider(Protocol::anthropic);
  const auto head = render_head(config, {}, {}, "prompt", tools);
  EXPECT_EQ(head, render_head(config, {}, {}, "prompt", tools));
  EXPECT_TRUE(head.bytes.ends_with("\"messages\":["));
  EXPECT_EQ(head.bytes.find("max_tokens"), std::string::npos) << "it changes from step to step";
}

TEST(Wire, SendsOnlyTheSamplingThatTheModelTakes) {
  const ModelSettings settings{0, "0", "0.9", "40", "7"};
  const auto head = [&](std::vector<std::string> sampling) {
    return render_head(provider(Protocol::openai), settings, sampling, "", {}).bytes;
  };
  EXPECT_EQ(head({}), R"({"model":"a \"model\"","messages":[)");
  EXPECT_EQ(head({"top_k", "top_p", "seed", "temperature"}),
            R"({"model":"a \"model\"","temperature":0,"top_p":0.9,"top_k":40,"seed":7,"messages":[)");
}

TEST(Wire, ATurnWithNothingToSendIsLeftOut) {
  for (const auto protocol : {Protocol::anthropic, Protocol::openai}) {
    EXPECT_EQ(render_assistant(provider(protocol), std::vector<ReplyBlock>{}, true).bytes, "");
    EXPECT_EQ(render_assistant(provider(protocol), std::vector{text(" \n"), thoughts("{}")}, false).bytes,
              "");
    EXPECT_EQ(render_tool_results(protocol, {}).bytes, "");
  }
}

TEST(Wire, ATailNeedsNoCommaBehindTheHead) {
  EXPECT_EQ(render_tail(provider(Protocol::anthropic), 5, "late", false),
            R"({"role":"user","content":[{"type":"text","text":"late"}]}],"max_tokens":5,"stream":true})");
}

TEST(Wire, KnowsWhereAndHowToSend) {
  const auto url = [](Protocol protocol, const char* base) {
    auto config = provider(protocol);
    config.base_url = base;
    return endpoint_url(config);
  };
  EXPECT_EQ(url(Protocol::anthropic, "https://api.anthropic.com"), "https://api.anthropic.com/v1/messages");
  EXPECT_EQ(url(Protocol::anthropic, "http://127.0.0.1:8000/v1"), "http://127.0.0.1:8000/v1/messages");
  EXPECT_EQ(url(Protocol::anthropic, "http://host/gate/"), "http://host/gate/v1/messages");
  EXPECT_EQ(url(Protocol::openai, "https://api.openai.com/v1"), "https://api.openai.com/v1/chat/completions");
  using Headers = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(request_headers(provider(Protocol::openai)),
            (Headers{{"content-type", "application/json"}, {"accept", "text/event-stream"}}));
  EXPECT_EQ(request_headers(provider(Protocol::anthropic)),
            (Headers{{"content-type", "application/json"},
                     {"accept", "text/event-stream"},
                     {"anthropic-version", "2023-06-01"}}));
}

}  // namespace
}  // namespace ratchet
