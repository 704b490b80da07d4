#pragma once
// The program with one model, agents and tools of a file, asked over its API.

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "http/cli/fields.hpp"
#include "tests/fakes/directory.hpp"
#include "tests/fakes/process.hpp"
#include "tests/http/event_reader.hpp"
#include "tests/http/raw_client.hpp"

namespace ratchet::testing {

class RunningProgram {
 public:
  /// `provider` is that of the model which agents name `m`; `scenario`, if it is scripted, the file
  /// scenario.yaml.
  RunningProgram(const std::string& provider, const std::string& agents, const std::string& scenario = "") {
    write("config.yaml",
          fmt::format("models: {{m: {{providers: [{}]}}}}\n"
                      "sandbox: {{tier2: {{launcher: none}}, tier3: {{launcher: none}}}}\n"
                      "subagents: {{max_depth: 2}}\n",
                      provider));
    write("agents.yaml", agents);
    write("scenario.yaml", scenario);
    start("127.0.0.1:0");
  }

  void start(const std::string& listen) {
    server_ = std::make_unique<fakes::Process>(
        std::vector<std::string>{std::string(RATCHET_BINARY_DIR) + "/http/ratchet",
                                 "serve",
                                 "--dev",
                                 "--listen",
                                 listen,
                                 "--data-dir",
                                 path("data"),
                                 "--config",
                                 path("config.yaml"),
                                 "--agents",
                                 path("agents.yaml")},
        path("errors"));
    EXPECT_TRUE(server_->line()) << server_->errors();
    std::string address;
    std::getline(std::ifstream(path("data/listen")), address);
    port_ = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  }

  void kill_and_restart() {
    server_->signal(SIGKILL);
    server_->wait();
    start(fmt::format("127.0.0.1:{}", port_));
  }

  std::uint16_t port() const { return port_; }

  Answer get(const std::string& target) const { return fetch(port_, "GET", target); }

  Answer post(const std::string& target, const std::string& body) const {
    return fetch(port_, "POST", target, body, {{"Content-Type", "application/json"}});
  }

  std::string start_run(const std::string& agent, const std::string& input = "go") const {
    const auto reply =
        post("/v1/runs",
             fmt::format(R"({{"agent_id":"{}","input":"{}","user_token":"dev:alice"}})", agent, input));
    EXPECT_EQ(reply.status, 202) << reply.body;
    return cli::Fields(reply.body).text("run_id");
  }

  /// A member of the run as it is shown, by the names on the way to it.
  std::string of_run(const std::string& run, const std::string& member) const {
    return cli::Fields(get("/v1/runs/" + run).body).text(member);
  }

  /// Follows the run until an event of this type; its data. `skip`: so many of them are passed over.
  std::string await_event(const std::string& run, std::string_view type, int skip = 0) const {
    Reader reader(port_, fmt::format("/v1/runs/{}/events?children=true", run));
    while (const auto frame = reader.next())
      if (frame->event == type && skip-- == 0) return frame->data;
    ADD_FAILURE() << "the run ended without " << type;
    return "";
  }

  /// The types of its events, with spaces between.
  std::string types_of(const std::string& run) const {
    Reader reader(port_, fmt::format("/v1/runs/{}/events", run));
    std::string all;
    while (const auto frame = reader.next())
      if (frame->event != "model.delta") all += (all.empty() ? "" : " ") + frame->event;
    return all;
  }

 private:
  std::string path(const std::string& name) const { return (directory_.path() + "/") + name; }

  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }

  TemporaryDirectory directory_;
  std::uint16_t port_ = 0;
  std::unique_ptr<fakes::Process> server_;
};

}  // namespace ratchet::testing
