#pragma once
// The credential that a tool is sent on behalf of its user, made at the moment of the call: the user's own
// token, or one that it was exchanged for. Exchanged tokens are kept in memory until shortly before they
// expire, so that a run does not ask for one with each call; nothing of them is ever written.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/time.hpp"
#include "runtime/tools/connector.hpp"
#include "runtime/tools/manifest.hpp"
#include "runtime/tools/token_exchange.hpp"

namespace ratchet {

class Credentials {
 public:
  using Ticket = std::uint64_t;
  using OnAnswer = std::function<void(ExchangeAnswer)>;

  /// Without an endpoint, tools with an audience get `failed`. What is a reference is borrowed.
  Credentials(Connector& connector, Clock& clock, std::optional<ExchangeEndpoint> endpoint);
  ~Credentials();

  /// What to send to a tool that acts as the user with this token. Calls `on_answer` once, on this thread or
  /// on the connector's, unless `cancel` came before. From any thread.
  Ticket get(const std::string& user_token, const ToolAuth& auth, OnAnswer on_answer);
  void cancel(Ticket ticket);

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace ratchet
