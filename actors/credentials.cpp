#include "actors/credentials.hpp"

#include <list>
#include <map>
#include <mutex>

#include "runtime/hash.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

/// Of what an exchanged token depends on: hashes, so that no text can pass for two. The user's token itself
/// is no part of what is kept.
Hash key_of(const std::string& user_token, const ToolAuth& auth) {
  std::string text = to_string(sha256(user_token)) + to_string(sha256(auth.audience));
  for (const auto& scope : auth.scopes)
    text += to_string(sha256(scope));
  return sha256(text);
}

struct Kept {
  Hash key;
  std::string token;
  Timestamp until;
};

/// The tokens used last, in order of use.
class Cache {
 public:
  std::optional<std::string> find(const Hash& key, Timestamp now) {
    const auto at = index_.find(key.bytes);
    if (at == index_.end()) return std::nullopt;
    if (now >= at->second->until) {
      kept_.erase(at->second);
      index_.erase(at);
      return std::nullopt;
    }
    kept_.splice(kept_.begin(), kept_, at->second);
    return at->second->token;
  }

  void keep(Kept token) {
    if (const auto at = index_.find(token.key.bytes); at != index_.end()) {
      kept_.erase(at->second);
      index_.erase(at);
    }
    kept_.push_front(std::move(token));
    index_[kept_.front().key.bytes] = kept_.begin();
    if (kept_.size() <= limits::exchanged_tokens_max) return;
    index_.erase(kept_.back().key.bytes);
    kept_.pop_back();
  }

 private:
  std::list<Kept> kept_;
  std::map<std::array<std::uint8_t, 32>, std::list<Kept>::iterator> index_;
};

}  // namespace

/// Shared with the callbacks under way, which may come after the object has gone.
class Credentials::State {
 public:
  State(Clock& clock_, std::optional<ExchangeEndpoint> endpoint_)
      : clock(clock_), endpoint(std::move(endpoint_)) {}

  void answered(Ticket ticket, const Hash& key, const ConnectorOutcome& outcome) {
    ExchangeAnswer answer = read_exchange(outcome);
    OnAnswer on_answer;
    {
      const std::lock_guard lock(mutex);
      const auto at = waiting.find(ticket);
      if (at == waiting.end()) return;
      on_answer = std::move(at->second.on_answer);
      waiting.erase(at);
      if (answer.kind == ExchangeAnswer::Kind::token) {
        const std::int64_t life_ms = answer.life_ms.value_or(limits::exchange_unknown_life_ms);
        const Timestamp until = clock.now().plus_ms(life_ms - limits::exchange_margin_ms);
        cache.keep({key, answer.token, until});
      }
    }
    on_answer(std::move(answer));
  }

  struct Waiting {
    OnAnswer on_answer;
    Connector::Ticket at_connector = 0;
  };

  Clock& clock;
  const std::optional<ExchangeEndpoint> endpoint;
  Connector* connector = nullptr;
  std::mutex mutex;
  Cache cache;
  std::map<Ticket, Waiting> waiting;
  Ticket last_ticket = 0;
};

Credentials::Credentials(Connector& connector, Clock& clock, std::optional<ExchangeEndpoint> endpoint)
    : state_(std::make_shared<State>(clock, std::move(endpoint))) {
  state_->connector = &connector;
}

Credentials::~Credentials() {
  const std::lock_guard lock(state_->mutex);
  state_->waiting.clear();
}

Credentials::Ticket Credentials::get(const std::string& user_token,
                                     const ToolAuth& auth,
                                     OnAnswer on_answer) {
  if (auth.audience.empty()) {
    on_answer({.kind = ExchangeAnswer::Kind::token, .token = user_token});
    return 0;
  }
  if (!state_->endpoint) {
    on_answer({.why = "this server cannot exchange tokens (identity.exchange is not configured)"});
    return 0;
  }
  const Hash key = key_of(user_token, auth);
  Ticket ticket = 0;
  {
    std::unique_lock lock(state_->mutex);
    if (auto kept = state_->cache.find(key, state_->clock.now())) {
      lock.unlock();
      on_answer({.kind = ExchangeAnswer::Kind::token, .token = std::move(*kept)});
      return 0;
    }
    ticket = ++state_->last_ticket;
    state_->waiting[ticket].on_answer = std::move(on_answer);
  }
  const Connector::Ticket at_connector =
      state_->connector->start(exchange_call(*state_->endpoint, user_token, auth.audience, auth.scopes),
                               [state = state_, ticket, key](const ConnectorOutcome& outcome) {
                                 state->answered(ticket, key, outcome);
                               });
  const std::lock_guard lock(state_->mutex);
  if (const auto at = state_->waiting.find(ticket); at != state_->waiting.end())
    at->second.at_connector = at_connector;
  return ticket;
}

void Credentials::cancel(Ticket ticket) {
  Connector::Ticket at_connector = 0;
  {
    const std::lock_guard lock(state_->mutex);
    const auto at = state_->waiting.find(ticket);
    if (at == state_->waiting.end()) return;
    at_connector = at->second.at_connector;
    state_->waiting.erase(at);
  }
  if (at_connector != 0) state_->connector->cancel(at_connector);
}

}  // namespace ratchet
