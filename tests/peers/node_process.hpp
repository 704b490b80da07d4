#pragma once
// A server in Node for the time of a test.

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace ratchet::tests {

/// The command of a Node that is new enough (20.15); none where there is none.
std::optional<std::string> find_node();

/// Why tests with npm packages cannot run here; empty: they can.
std::string peers_missing();

/// What `node <args>` prints in tests/peers, until it ends.
std::string printed_by_node(const std::vector<std::string>& args);

class NodeProcess {
 public:
  /// Starts `node <args>` in tests/peers and waits until it prints an address (`http://…` or `https://…`).
  /// Aborts the test program if it does not.
  explicit NodeProcess(const std::vector<std::string>& args);
  ~NodeProcess();

  NodeProcess(const NodeProcess&) = delete;
  NodeProcess& operator=(const NodeProcess&) = delete;

  /// As it was printed: scheme, host and port.
  const std::string& url() const { return url_; }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  std::string url_;
};

}  // namespace ratchet::tests
