#include "http/identity/issuer_keys.hpp"

#include <limits>

#include <fmt/format.h>

#include "runtime/limits.hpp"
#include "runtime/tools/url.hpp"

namespace ratchet {

IssuerKeys::IssuerKeys(Connector& connector, Clock& clock, std::string url, Log log)
    : connector_(connector), clock_(clock), url_(std::move(url)), log_(std::move(log)) {}

void IssuerKeys::get(const std::string& id, OnKeys on_keys) {
  bool start = false;
  Result<Keys> known;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    const bool young = keys_ && age_ms() <= limits::key_set_patient_ms;
    const bool unknown = young && !usable(id);
    const bool wanted = unknown || age_ms() > limits::key_set_fresh_ms;
    start = wanted && !fetching_ && may_fetch(unknown);
    const bool wait = (unknown || !young) && (start || fetching_);
    if (wait && waiting_.size() < limits::key_set_waiting_max) {
      waiting_.push_back({id, std::move(on_keys)});
      on_keys = nullptr;
    }
    if (on_keys)
      known = wait ? Result<Keys>(
                         fail(ErrorCode::identity_unavailable, "too many tokens wait for the issuer's keys"))
                   : answer(id);
    fetching_ = fetching_ || start;
  }
  if (start) fetch();
  if (on_keys) on_keys(std::move(known));
}

void IssuerKeys::warm_up() {
  get({}, [](const Result<Keys>&) {});
}

void IssuerKeys::stop() {
  Connector::Ticket ticket = 0;
  std::vector<Waiter> dropped;  // destroyed outside of the lock
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    dropped.swap(waiting_);
    if (fetching_) ticket = ticket_;
  }
  if (ticket != 0) connector_.cancel(ticket);
  const std::lock_guard told(telling_);
}

bool IssuerKeys::usable(const std::string& id) const {
  return keys_ && (id.empty() || keys_->has(id));
}

/// Whether it is time, so that neither an issuer that is away nor made-up key ids cause a fetch for each
/// token.
bool IssuerKeys::may_fetch(bool for_unknown_key) {
  const Timestamp now = clock_.now();
  if (ms_between(tried_at_, now) < limits::key_set_retry_ms) return false;
  if (for_unknown_key) {
    if (ms_between(tried_for_unknown_at_, now) < limits::key_set_unknown_retry_ms) return false;
    tried_for_unknown_at_ = now;
  }
  tried_at_ = now;
  return true;
}

Result<IssuerKeys::Keys> IssuerKeys::answer(const std::string& id) const {
  const bool believed = keys_ && age_ms() <= limits::key_set_stale_max_ms;
  // While the issuer is away nobody knows whether it has a key that we have not seen.
  if (believed && (usable(id) || failure_.empty())) return keys_;
  return fail(ErrorCode::identity_unavailable,
              fmt::format("the keys at {} that verify user tokens are not to be had: {}",
                          url_,
                          failure_.empty() ? "they have not been fetched yet" : failure_));
}

std::int64_t IssuerKeys::age_ms() const {
  return keys_ ? ms_between(fetched_at_, clock_.now()) : std::numeric_limits<std::int64_t>::max();
}

void IssuerKeys::fetch() {
  ConnectorCall call;
  call.method = "GET";
  call.url = url_;
  call.headers = {{"Accept", "application/jwk-set+json, application/json"}};
  call.timeout_ms = limits::key_set_timeout_ms;
  call.network_allow = {parse_url(url_)->endpoint()};
  call.trusted = true;
  call.reply_bytes_max = limits::key_set_bytes_max;
  const auto ticket =
      connector_.start(std::move(call), [this](const ConnectorOutcome& outcome) { fetched(outcome); });
  const std::lock_guard lock(mutex_);
  ticket_ = ticket;
}

void IssuerKeys::fetched(const ConnectorOutcome& outcome) {
  if (outcome.kind != ConnectorOutcome::Kind::answered)
    return take(fail(ErrorCode::identity_unavailable, outcome.text));
  if (outcome.status != 200)
    return take(fail(ErrorCode::identity_unavailable, fmt::format("HTTP status {}", outcome.status)));
  take(parse_key_set(outcome.body));
}

void IssuerKeys::take(Result<KeySet> keys) {
  const std::lock_guard told(telling_);
  std::vector<Waiter> waiting;
  std::vector<Result<Keys>> answers;
  std::string failure;
  {
    const std::lock_guard lock(mutex_);
    fetching_ = false;
    if (stopped_) return;
    failure_ = keys ? std::string() : keys.error().text;
    failure = failure_;
    if (keys) {
      keys_ = std::make_shared<const KeySet>(std::move(*keys));
      fetched_at_ = clock_.now();
    }
    waiting.swap(waiting_);
    for (const Waiter& each : waiting)
      answers.push_back(answer(each.id));
  }
  if (!failure.empty())
    log_(LogLevel::warning, fmt::format("the keys at {} were not fetched: {}", url_, failure));
  for (std::size_t i = 0; i < waiting.size(); ++i)
    waiting[i].on_keys(std::move(answers[i]));
}

}  // namespace ratchet
