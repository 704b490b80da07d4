#include "sandbox/egress/proxy.hpp"

#include <utility>

#include "runtime/limits.hpp"

namespace ratchet::sandbox {

namespace {

constexpr std::size_t resolver_threads = 4;
constexpr std::size_t shown_host_bytes_max = 260;

}  // namespace

EgressProxy::EgressProxy(DialRules rules)
    : rules_(std::make_shared<const DialRules>(std::move(rules))), workers_(resolver_threads) {}

EgressProxy::~EgressProxy() {
  loop_.post([this] { sandboxes_.clear(); });
}

void EgressProxy::grant(SandboxId sandbox,
                        const std::vector<std::string>& allow,
                        std::shared_ptr<EgressLink> link) {
  loop_.post([this, sandbox, allow, link = std::move(link)]() mutable {
    Entry& entry = sandboxes_[sandbox];
    entry.allow = std::move(allow);
    entry.link = std::move(link);
  });
}

void EgressProxy::forget(SandboxId sandbox) {
  loop_.post([this, sandbox] { sandboxes_.erase(sandbox); });
}

void EgressProxy::opened(SandboxId sandbox, ConnectionId connection) {
  loop_.post([this, sandbox, connection] { open(sandbox, connection); });
}

void EgressProxy::open(SandboxId sandbox, ConnectionId connection) {
  const auto found = sandboxes_.find(sandbox);
  if (found == sandboxes_.end()) return;
  Entry& entry = found->second;
  // The guest keeps to the bound by itself; one that does not is no guest of ours.
  if (entry.connections.size() >= limits::egress_connections_max) return entry.link->close(connection, true);
  entry.connections[connection] = std::make_unique<Connection>(
      Connection::Shared{loop_, workers_, rules_, std::to_string(sandbox)},
      connection,
      entry.allow,
      entry.link,
      [this, sandbox](const std::string& endpoint) { count(sandbox, endpoint); },
      [this, sandbox, connection] { over(sandbox, connection); });
}

/// Its connection is still on the stack: it goes when that has returned.
void EgressProxy::over(SandboxId sandbox, ConnectionId connection) {
  loop_.post([this, sandbox, connection] {
    if (const auto found = sandboxes_.find(sandbox); found != sandboxes_.end())
      found->second.connections.erase(connection);
  });
}

Connection* EgressProxy::find(SandboxId sandbox, ConnectionId connection) {
  const auto found = sandboxes_.find(sandbox);
  if (found == sandboxes_.end()) return nullptr;
  const auto at = found->second.connections.find(connection);
  return at == found->second.connections.end() ? nullptr : at->second.get();
}

void EgressProxy::data(SandboxId sandbox, ConnectionId connection, std::string_view bytes) {
  loop_.post([this, sandbox, connection, bytes = std::string(bytes)] {
    if (Connection* at = find(sandbox, connection)) at->data(bytes);
  });
}

void EgressProxy::credit(SandboxId sandbox, ConnectionId connection, std::uint32_t bytes) {
  loop_.post([this, sandbox, connection, bytes] {
    if (Connection* at = find(sandbox, connection)) at->credit(bytes);
  });
}

void EgressProxy::closed(SandboxId sandbox, ConnectionId connection, bool broken) {
  loop_.post([this, sandbox, connection, broken] {
    if (Connection* at = find(sandbox, connection)) at->closed(broken);
  });
}

void EgressProxy::count(SandboxId sandbox, const std::string& endpoint) {
  SandboxEvidence& evidence = sandboxes_.at(sandbox).evidence;  // its connection tells
  ++evidence.refused_connections;
  if (evidence.refused_hosts.size() < limits::sandbox_names_max)
    evidence.refused_hosts.push_back(endpoint.substr(0, shown_host_bytes_max));
}

void EgressProxy::take_evidence(SandboxId sandbox, std::function<void(SandboxEvidence)> told) {
  loop_.post([this, sandbox, told = std::move(told)] {
    const auto found = sandboxes_.find(sandbox);
    told(found == sandboxes_.end() ? SandboxEvidence{} : std::exchange(found->second.evidence, {}));
  });
}

}  // namespace ratchet::sandbox
