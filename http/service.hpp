#pragma once
// The HTTP side of a server as one object: it listens, answers requests, and streams events. It owns its
// threads (one for all sockets, two for reads of the journal) and nothing of the node.
//
//   StoredCatalog catalog(journal, models);        // http/catalog.hpp, the node's AgentCatalog too
//   …node…
//   Metrics metrics;                               // http/metrics.hpp, the node's CommitObserver too
//   Service service({node, feed, journal, clock, catalog, metrics, users}, options);
//   const auto port = service.start();             // from here on requests are answered
//   service.drain();                               // at SIGTERM, before Node::drain
//   service.stop();                                // after it

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "http/config/server_config.hpp"
#include "runtime/descriptors.hpp"
#include "runtime/journal.hpp"
#include "runtime/node.hpp"
#include "runtime/redact/redactor.hpp"
#include "runtime/time.hpp"

namespace ratchet {

class Metrics;
class StoredCatalog;
class Users;

/// All are borrowed and outlive the service.
struct ServiceParts {
  Node& node;
  EventFeed& feed;
  Journal& journal;  ///< read, and asked for its health
  Clock& clock;
  StoredCatalog& catalog;
  Metrics& metrics;  ///< also the node's observer, which makes it count runs, models and tools
  Users& users;      ///< says who a user token stands for
};

struct ServiceOptions {
  std::string listen = "127.0.0.1:8080";  ///< numeric address and port; port 0: any free one
  bool dev = false;                       ///< no key is needed, a foreign Host or Origin is refused
  std::vector<ClientKey> keys;
  std::int64_t request_bytes_max = limits::request_bytes_max;
  Descriptors* descriptors = nullptr;  ///< as the server's
  /// What clients without the role audit are not shown.
  std::shared_ptr<const Redactor> redactor = Redactor::standard();
};

class Service {
 public:
  Service(ServiceParts parts, ServiceOptions options);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Binds, listens, and returns the port. Errors: invalid_request, for an address that is none, cannot be
  /// bound, or is not loopback while `dev` is set or there are no keys.
  Result<std::uint16_t> start();
  /// No new runs (503 draining); event streams end with a `retry:` line, all else is answered, each
  /// connection once. Returns at once.
  void drain();
  /// Closes what is left and joins the threads. Nothing of `parts` is touched afterwards.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ratchet
