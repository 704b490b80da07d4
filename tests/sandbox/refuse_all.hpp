#pragma once
// No way out at all: each connection is closed and counted.

#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "sandbox/egress/egress.hpp"

namespace ratchet::sandbox {

class RefuseAll final : public Egress {
 public:
  void grant(SandboxId sandbox, const std::vector<std::string>&, std::shared_ptr<EgressLink> link) override {
    sandboxes_[sandbox] = {std::move(link), 0};
  }

  void forget(SandboxId sandbox) override { sandboxes_.erase(sandbox); }

  void opened(SandboxId sandbox, ConnectionId connection) override {
    auto& entry = sandboxes_[sandbox];
    ++entry.refused;
    if (entry.link) entry.link->close(connection, true);
  }

  void data(SandboxId, ConnectionId, std::string_view) override {}

  void credit(SandboxId, ConnectionId, std::uint32_t) override {}

  void closed(SandboxId, ConnectionId, bool) override {}

  void take_evidence(SandboxId sandbox, std::function<void(SandboxEvidence)> told) override {
    SandboxEvidence evidence;
    if (const auto found = sandboxes_.find(sandbox); found != sandboxes_.end())
      evidence.refused_connections = std::exchange(found->second.refused, 0);
    told(std::move(evidence));
  }

 private:
  struct Entry {
    std::shared_ptr<EgressLink> link;
    std::uint32_t refused = 0;
  };

  std::map<SandboxId, Entry> sandboxes_;
};

}  // namespace ratchet::sandbox
