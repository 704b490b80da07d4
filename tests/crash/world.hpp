#pragma once
// What every crash test needs: the server that is killed, the service that its tools act on and that counts,
// and the words for both. A tool named `X` takes `{n: <integer>}` and sends it to the service as it stands.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <boost/json/value.hpp>
#include <gtest/gtest.h>

#include "tests/crash/server.hpp"
#include "tests/fakes/effect_server.hpp"

namespace ratchet::crashing {

boost::json::value parsed(const Answer& answer);
/// The string of that name; empty, if there is none.
std::string text_at(const boost::json::value& value, const char* key);

class World : public testing::Test {
 protected:
  /// `model`: further lines of the model's entry in the configuration, indented by four.
  explicit World(const std::string& scenario,
                 const std::string& config = without_sandboxes,
                 const std::string& model = {})
      : server_(scenario, config, model) {}

  struct Tool {
    std::string name, side_effects = "external";
    std::string idempotency = "none";  // "status_check" asks the service
    std::string path = "/act";
    bool asks = false;  // a person, before every call
  };

  void add_tool(const Tool& tool);
  /// An agent whose policy allows everything. `more`: further members of its definition, each after a comma.
  void add_agent(const std::string& name, const std::string& tools, const std::string& more = "");
  std::string start_run(const std::string& agent);

  boost::json::value run(const std::string& id);
  std::vector<boost::json::value> events(const std::string& id);
  /// Answers for the calls of a paused run of which nobody knows whether they happened.
  void resolve(const std::string& id,
               const boost::json::value& paused,
               const std::function<bool(const std::string& call_id)>& happened);
  /// What must not depend on crashes: how the run ended and what each call returned.
  std::string outcome(const std::string& id);
  void restart();
  /// SIGTERM, and the checks of all that was written in all lives: the chains and bytes, every invariant, and
  /// that this build decides each finished run again as it was decided.
  void expect_whole_journal();

  fakes::EffectServer effects_;
  Server server_;

 private:
  /// Every finished run, as a file each. Some of them become recordings (tests/golden).
  std::filesystem::path export_runs();
};

}  // namespace ratchet::crashing
