#pragma once
// A model that answers when the test says so, over OpenAI Chat Completions. The n-th request gets the n-th
// reply; past the last one it gets the last.

#include <string>
#include <string_view>
#include <vector>

#include "runtime/json/writer.hpp"
#include "tests/fakes/byte_server.hpp"

namespace ratchet::testing {

class HeldModel {
 public:
  struct Reply {
    std::string text;
    std::string tool = {}, args = {};  ///< a call, where there is a tool
    bool held = false;                 ///< until `release`
  };

  explicit HeldModel(std::vector<Reply> replies) : held_(replies.size()), server_(scripts_of(replies)) {}

  /// For the configuration of a server.
  std::string provider() const {
    return R"({protocol: openai, model: x, base_url: ")" + server_.url("/v1") + R"("})";
  }

  /// Waits until the n-th request, from 0, has come; its body.
  std::string request(std::size_t n) {
    EXPECT_TRUE(server_.await_requests(n + 1))
        << "the model was asked " << server_.requests().size() << " times";
    const auto all = server_.requests();
    return n < all.size() ? all[n].body : "";
  }

  std::size_t requests() { return server_.requests().size(); }

  void release(std::size_t n) { server_.raise(held_.at(n)); }

 private:
  using Server = fakes::ByteServer;

  std::vector<Server::Script> scripts_of(const std::vector<Reply>& replies) {
    std::vector<Server::Script> scripts;
    for (std::size_t n = 0; n < replies.size(); ++n) {
      held_[n] = Server::signal();
      Server::Script script{Server::receive()};
      if (replies[n].held) script.push_back(Server::wait(held_[n]));
      script.push_back(Server::send(answer(replies[n])));
      script.push_back(Server::close());
      scripts.push_back(std::move(script));
    }
    return scripts;
  }

  static std::string quoted(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
  }

  static std::string answer(const Reply& reply) {
    std::string delta = R"({"role":"assistant","content":)" + quoted(reply.text);
    if (!reply.tool.empty())
      delta += R"(,"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":)" +
               quoted(reply.tool) + R"(,"arguments":)" + quoted(reply.args) + "}}]";
    const std::string reason = reply.tool.empty() ? "stop" : "tool_calls";
    const std::string chunk = R"(data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m",)";
    return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + chunk +
           R"("choices":[{"index":0,"delta":)" + delta + R"(},"finish_reason":null}]})" + "\n\n" + chunk +
           R"("choices":[{"index":0,"delta":{},"finish_reason":")" + reason + "\"}]}\n\n" + chunk +
           R"("choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}})" +
           "\n\ndata: [DONE]\n\n";
  }

  std::vector<Server::Signal> held_;
  Server server_;
};

}  // namespace ratchet::testing
