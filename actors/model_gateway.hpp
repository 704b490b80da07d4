#pragma once
// Model calls under way, at most so many a model at once. What is over the limit waits in order of arrival;
// when a provider says that it is overloaded the limit is halved, and grows back by one with every so many
// good replies.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "runtime/model/client.hpp"

namespace ratchet {

class ModelGateway {
 public:
  using Ticket = std::uint64_t;

  /// `max_concurrent` by model name; a model that is not in it is not limited.
  ModelGateway(ModelClient& client, std::map<std::string, std::size_t> max_concurrent);

  /// As `ModelClient::start`, now or when it is the call's turn. From any thread.
  Ticket start(ModelCall call, ModelClient::OnDelta on_delta, ModelClient::OnDone on_done);
  /// After it returns, no callback of this ticket begins any more.
  void cancel(Ticket ticket);

  std::size_t in_flight() const;

 private:
  struct Waiting {
    Ticket ticket;
    ModelCall call;
    ModelClient::OnDelta on_delta;
    ModelClient::OnDone on_done;
  };

  struct Lane {
    std::size_t limit_max = SIZE_MAX, limit = SIZE_MAX, running = 0, good = 0;
    std::deque<Waiting> queue;
  };

  struct Running {
    std::string model;
    ModelClient::Ticket at_client = 0;
    bool cancelled = false;
  };

  void launch(Waiting waiting);
  void ended(Ticket ticket, const ModelOutcome& outcome);
  void next(Lane& lane, std::vector<Waiting>& ready);

  ModelClient& client_;
  mutable std::mutex mutex_;
  std::map<std::string, Lane> lanes_;
  std::unordered_map<Ticket, Running> running_;
  Ticket last_ticket_ = 0;
};

}  // namespace ratchet
