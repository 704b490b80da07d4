#pragma once
// The issuer's keys, fetched when they are needed and kept. A fetch happens in the background while the set
// is young enough to be believed, and is waited for where there is no other way: at the first token, for a
// key that the set does not have (the issuer may have a new one), and once the set is old. An issuer that is
// away is borne for a while: limits::key_set_* say how long.

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "http/identity/key_set.hpp"
#include "runtime/log.hpp"
#include "runtime/result.hpp"
#include "runtime/time.hpp"
#include "runtime/tools/connector.hpp"

namespace ratchet {

class IssuerKeys {
 public:
  using Keys = std::shared_ptr<const KeySet>;
  using OnKeys = std::function<void(Result<Keys>)>;

  /// `url` is one that `parse_url` takes. All are borrowed.
  IssuerKeys(Connector& connector, Clock& clock, std::string url, Log log);

  ~IssuerKeys() { stop(); }

  IssuerKeys(const IssuerKeys&) = delete;
  IssuerKeys& operator=(const IssuerKeys&) = delete;

  /// Calls `on_keys` once, at once on this thread where nothing has to be fetched, else on the connector's,
  /// which must not be blocked. The set may lack the key `id`: then the issuer does not have it, as far as is
  /// known. From any thread. Errors: identity_unavailable.
  void get(const std::string& id, OnKeys on_keys);
  /// Fetches the set now, if none is there, so that the first token does not have to wait.
  void warm_up();
  /// After it returns no callback begins any more, and none is running. Not called from a callback.
  void stop();

 private:
  struct Waiter {
    std::string id;
    OnKeys on_keys;
  };

  bool usable(const std::string& id) const;
  bool may_fetch(bool for_unknown_key);
  Result<Keys> answer(const std::string& id) const;
  std::int64_t age_ms() const;
  void fetch();
  void fetched(const ConnectorOutcome& outcome);
  void take(Result<KeySet> keys);

  Connector& connector_;
  Clock& clock_;
  const std::string url_;
  const Log log_;

  std::mutex telling_;  ///< held while callbacks of waiters run
  mutable std::mutex mutex_;
  Keys keys_;
  Timestamp fetched_at_, tried_at_, tried_for_unknown_at_;
  std::string failure_;  ///< of the last fetch; empty: it succeeded
  bool fetching_ = false, stopped_ = false;
  Connector::Ticket ticket_ = 0;
  std::vector<Waiter> waiting_;
};

}  // namespace ratchet
