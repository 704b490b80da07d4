#include "actors/outbox.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "runtime/limits.hpp"
#include "runtime/tools/url.hpp"

namespace ratchet {

namespace {

bool is_taken(const ConnectorOutcome& outcome) {
  if (outcome.kind != ConnectorOutcome::Kind::answered) return false;
  // 410: the receiver wants to hear no more of it.
  return (outcome.status >= 200 && outcome.status < 300) || outcome.status == 410;
}

std::string why_not(const ConnectorOutcome& outcome) {
  return outcome.kind == ConnectorOutcome::Kind::answered ? fmt::format("answered {}", outcome.status)
                                                          : outcome.text;
}

}  // namespace

/// Shared with the callbacks under way, which may come after the outbox has gone.
class Outbox::State : public std::enable_shared_from_this<State> {
 public:
  explicit State(OutboxParts parts) : parts_(std::move(parts)) {}

  void wake() { look_at(Timestamp{}); }

  void shut() {
    std::map<std::string, Post> posts;
    {
      // A look that is under way ends first.
      const std::lock_guard looking(looking_);
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      posts.swap(posts_);
      if (timer_ticket_) parts_.timer.cancel(timer_ticket_);
    }
    for (const auto& [id, post] : posts)
      if (post.request) parts_.connector.cancel(*post.request);
  }

 private:
  /// An entry that is being posted, or whose end is being written.
  struct Post {
    std::string endpoint;
    std::optional<Connector::Ticket> request;
  };

  /// Looks at the outbox at this time, unless it will earlier.
  void look_at(Timestamp at) {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    at = std::max(at, hold_until_);
    if (timer_ticket_) {
      if (timer_at_ <= at) return;
      parts_.timer.cancel(timer_ticket_);
    }
    timer_at_ = at;
    timer_ticket_ = parts_.timer.at(at, [self = shared_from_this()] { self->look(); });
  }

  void look() {
    const std::lock_guard looking(looking_);
    std::size_t under_way = 0;
    {
      const std::lock_guard lock(mutex_);
      timer_ticket_ = 0;
      if (stopping_) return;
      for (const std::string& id : std::exchange(settled_, {}))
        posts_.erase(id);
      under_way = posts_.size();
    }
    if (under_way >= limits::webhooks_in_flight_max) return;  // the next that ends wakes us
    // Those under way stand in the journal still, before or between the others, and so do those that wait
    // for their turn at a slow receiver: few are looked at where few will do.
    if (!look_among(limits::webhooks_in_flight_max + 1)) look_among(limits::webhooks_looked_at_max);
  }

  /// Posts what is due of the first `count`. False: there may be more behind them, and there is room.
  bool look_among(std::size_t count) {
    const auto entries = parts_.journal.outbox(count);
    if (!entries) {
      hold(entries.error());
      return true;
    }
    const Timestamp now = parts_.clock.now();
    for (const OutboxEntry& entry : *entries) {
      if (entry.due_at > now) {
        look_at(entry.due_at);
        return true;
      }
      if (take(entry)) post(entry, now);
    }
    const std::lock_guard lock(mutex_);
    return entries->size() < count || posts_.size() >= limits::webhooks_in_flight_max;
  }

  /// False: it is under way, or there is no room for another one, at all or at its receiver.
  bool take(const OutboxEntry& entry) {
    const auto url = parse_url(entry.url);
    std::string endpoint = url ? url->endpoint() : std::string();
    const std::lock_guard lock(mutex_);
    const auto to_it =
        std::ranges::count_if(posts_, [&](const auto& each) { return each.second.endpoint == endpoint; });
    if (posts_.size() >= limits::webhooks_in_flight_max ||
        static_cast<std::size_t>(to_it) >= limits::webhooks_per_endpoint_max)
      return false;
    return posts_.try_emplace(delivery_id(entry), Post{std::move(endpoint), std::nullopt}).second;
  }

  void post(const OutboxEntry& entry, Timestamp now) {
    const std::string id = delivery_id(entry);
    ConnectorCall call;
    call.method = "POST";
    call.url = entry.url;
    call.headers = webhook_headers(parts_.secrets, id, now, entry.body);
    call.headers.emplace_back("Content-Type", "application/json");
    call.body = entry.body;
    call.timeout_ms = limits::webhook_timeout_ms;
    if (const auto url = parse_url(entry.url)) call.network_allow = {url->endpoint()};
    call.reply_bytes_max = limits::webhook_reply_bytes_max;
    call.repeatable = true;
    const auto request = parts_.connector.start(
        std::move(call),
        [self = shared_from_this(), entry](const ConnectorOutcome& outcome) { self->ended(entry, outcome); });
    {
      const std::lock_guard lock(mutex_);
      if (const auto at = posts_.find(id); at != posts_.end()) {
        at->second.request = request;
        return;
      }
      if (!stopping_) return;  // it has ended already
    }
    parts_.connector.cancel(request);
  }

  void ended(const OutboxEntry& entry, const ConnectorOutcome& outcome) {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    posts_.at(delivery_id(entry)).request.reset();
    OutboxUpdate update{entry, std::nullopt};
    DeliveryOutcome became = DeliveryOutcome::delivered;
    if (!is_taken(outcome)) {
      update.again = put_off(entry, parts_.clock.now());
      became = update.again ? DeliveryOutcome::failed : DeliveryOutcome::given_up;
      tell_of(entry, outcome, update.again.has_value());
    }
    if (parts_.observer) parts_.observer->on_delivery(entry.type, became, outcome.latency_ms);
    Commit commit;
    commit.outbox.push_back(std::move(update));
    parts_.writer.write(std::move(commit), [self = shared_from_this(), entry](Result<Committed> written) {
      self->written(entry, written);
    });
  }

  void tell_of(const OutboxEntry& entry, const ConnectorOutcome& outcome, bool again) const {
    // The path may hold a receiver's secret: only the address is told.
    const auto url = parse_url(entry.url);
    parts_.log(again ? LogLevel::warning : LogLevel::error,
               fmt::format("{} of {} for {} was not delivered, attempt {}, and {}: {}",
                           entry.type,
                           to_string(entry.run_id),
                           url ? url->endpoint() : "an address that cannot be read",
                           entry.attempts + 1,
                           again ? "will be again" : "is given up",
                           why_not(outcome)));
  }

  void written(const OutboxEntry& entry, const Result<Committed>& written) {
    {
      const std::lock_guard lock(mutex_);
      settled_.push_back(delivery_id(entry));
    }
    if (!written) return hold(written.error());
    wake();
  }

  /// The journal does not answer or take anything: what is posted now would only be posted again.
  void hold(const Error& error) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      hold_until_ = parts_.clock.now().plus_ms(limits::webhook_retry_min_ms);
    }
    parts_.log(LogLevel::warning, "nothing is delivered for a while: " + error.text);
    look_at(Timestamp{});
  }

  const OutboxParts parts_;
  std::mutex looking_;  ///< taken before `mutex_`
  std::mutex mutex_;
  std::map<std::string, Post> posts_;  ///< by delivery id
  std::vector<std::string> settled_;   ///< whose end is durable: the next look forgets them before it reads
  Timer::Ticket timer_ticket_ = 0;     ///< 0: it does not wait to look
  Timestamp timer_at_, hold_until_;
  bool stopping_ = false;
};

Outbox::Outbox(OutboxParts parts) : state_(std::make_shared<State>(std::move(parts))) {}

Outbox::~Outbox() {
  state_->shut();
}

std::function<void()> Outbox::waker() const {
  return [state = state_] { state->wake(); };
}

}  // namespace ratchet
