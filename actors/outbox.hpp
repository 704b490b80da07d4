#pragma once
// Posts what stands in the journal's outbox: webhooks of approvals and pauses, and hooks at `on_stop`. At
// least once: an entry leaves the journal when its receiver has taken it, and a crash between the two posts
// it again. What cannot be delivered is tried again, later each time, for days; then it is given up, which
// the log and the metrics say.

#include <functional>
#include <memory>
#include <vector>

#include "actors/journal_writer.hpp"
#include "actors/timer.hpp"
#include "runtime/log.hpp"
#include "runtime/observer.hpp"
#include "runtime/tools/connector.hpp"
#include "runtime/webhook.hpp"

namespace ratchet {

/// What it works with. All borrowed, but for the secrets and the log.
struct OutboxParts {
  JournalReader& journal;
  JournalWriter& writer;
  Connector& connector;
  Timer& timer;
  Clock& clock;
  std::vector<WebhookSecret> secrets;  ///< sign each post; the receivers know one of them
  Log log;
  HookObserver* observer = nullptr;
};

class Outbox {
 public:
  explicit Outbox(OutboxParts parts);
  /// What is under way is cut off, and stays in the journal.
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// Makes it look for what is due, soon, on the timer's thread: after a start, and after every commit that
  /// wrote an entry. To be called from any thread, also when the outbox has gone.
  std::function<void()> waker() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace ratchet
