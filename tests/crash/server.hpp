#pragma once
// The real server as a process of its own, driven over its API.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/fakes/process.hpp"

namespace ratchet::crashing {

struct Answer {
  long status = 0;  ///< 0: no answer
  std::string body;
};

/// Trying the machine costs each of the many starts, and most tools need no sandbox.
inline constexpr const char* without_sandboxes =
    "sandbox: {tier2: {launcher: none}, tier3: {launcher: none}}\n";

/// The `models:` section of a configuration.
struct Models {
  std::string yaml;
};

class Server {
 public:
  /// A configuration whose model `scripted` plays `scenario`, with what else is to stand in it; everything
  /// lives in a fresh directory. `model`: further lines of the model's entry, indented by four.
  explicit Server(const std::string& scenario,
                  const std::string& more = without_sandboxes,
                  const std::string& model = {});
  /// Without sandboxes, with these models.
  explicit Server(const Models& models);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void start();
  void kill();
  /// SIGTERM; the exit status.
  int drain();

  Answer get(const std::string& path) const;
  Answer post(const std::string& path, const std::string& body) const;
  /// Reads the run's event stream until an event of at least this number was seen, or the time is over.
  void follow(const std::string& run, std::uint64_t seq, long timeout_ms = 60'000) const;

  struct Ran {
    int status = 0;
    std::string output;
  };

  /// `ratchet` with these arguments, beside the server or without it.
  Ran command(std::vector<std::string> arguments) const;
  std::string errors() const;

  std::filesystem::path data_dir() const { return directory_ / "data"; }

  /// Of the test, beside the data.
  std::filesystem::path directory() const { return directory_; }

 private:
  void write_config(const std::string& rest);

  std::filesystem::path directory_;
  std::string url_;
  std::unique_ptr<fakes::Process> process_;
};

}  // namespace ratchet::crashing
