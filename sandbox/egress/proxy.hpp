#pragma once
// The way out of sandboxes: an HTTP proxy that decides on every request, resolves nothing that is not listed,
// and dials only addresses that the rules allow.

#include <map>
#include <memory>

#include "sandbox/egress/connection.hpp"
#include "sandbox/egress/egress.hpp"

namespace ratchet::sandbox {

class EgressProxy final : public Egress {
 public:
  explicit EgressProxy(DialRules rules);
  ~EgressProxy() override;

  void grant(SandboxId sandbox,
             const std::vector<std::string>& allow,
             std::shared_ptr<EgressLink> link) override;
  void forget(SandboxId sandbox) override;
  void opened(SandboxId sandbox, ConnectionId connection) override;
  void data(SandboxId sandbox, ConnectionId connection, std::string_view bytes) override;
  void credit(SandboxId sandbox, ConnectionId connection, std::uint32_t bytes) override;
  void closed(SandboxId sandbox, ConnectionId connection, bool broken) override;
  void take_evidence(SandboxId sandbox, std::function<void(SandboxEvidence)> told) override;

 private:
  struct Entry {
    std::vector<std::string> allow;
    std::shared_ptr<EgressLink> link;
    std::map<ConnectionId, std::unique_ptr<Connection>> connections;
    SandboxEvidence evidence;  ///< since it was asked last
  };

  // On the loop's thread.
  void open(SandboxId sandbox, ConnectionId connection);
  void over(SandboxId sandbox, ConnectionId connection);
  Connection* find(SandboxId sandbox, ConnectionId connection);

  void count(SandboxId sandbox, const std::string& endpoint);

  std::shared_ptr<const DialRules> rules_;
  std::map<SandboxId, Entry> sandboxes_;
  // Its tasks use what stands above: the loop is declared after it, and ends before.
  Loop loop_;
  Workers workers_;
};

}  // namespace ratchet::sandbox
