#include "actors/model_gateway.hpp"

#include <algorithm>
#include <vector>

namespace ratchet {

ModelGateway::ModelGateway(ModelClient& client, std::map<std::string, std::size_t> max_concurrent)
    : client_(client) {
  for (const auto& [model, limit] : max_concurrent) {
    Lane& lane = lanes_[model];
    lane.limit_max = lane.limit = std::max<std::size_t>(limit, 1);
  }
}

ModelGateway::Ticket ModelGateway::start(ModelCall call,
                                         ModelClient::OnDelta on_delta,
                                         ModelClient::OnDone on_done) {
  std::vector<Waiting> ready;
  Ticket ticket;
  {
    const std::lock_guard lock(mutex_);
    ticket = ++last_ticket_;
    Lane& lane = lanes_[call.model];
    lane.queue.push_back({ticket, std::move(call), std::move(on_delta), std::move(on_done)});
    next(lane, ready);
  }
  for (Waiting& each : ready)
    launch(std::move(each));
  return ticket;
}

/// Moves what may begin now from the queue to `running_`. The client is called later, under no lock.
void ModelGateway::next(Lane& lane, std::vector<Waiting>& ready) {
  while (!lane.queue.empty() && lane.running < lane.limit) {
    ++lane.running;
    running_[lane.queue.front().ticket] = Running{lane.queue.front().call.model};
    ready.push_back(std::move(lane.queue.front()));
    lane.queue.pop_front();
  }
}

void ModelGateway::launch(Waiting waiting) {
  const Ticket ticket = waiting.ticket;
  const auto done = [this, ticket, on_done = std::move(waiting.on_done)](ModelOutcome outcome) {
    ended(ticket, outcome);
    on_done(std::move(outcome));
  };
  const ModelClient::Ticket at_client =
      client_.start(std::move(waiting.call), std::move(waiting.on_delta), done);
  bool cancelled = false;
  {
    const std::lock_guard lock(mutex_);
    const auto running = running_.find(ticket);
    if (running == running_.end()) return;  // it has ended already
    running->second.at_client = at_client;
    cancelled = running->second.cancelled;
  }
  if (cancelled) cancel(ticket);
}

void ModelGateway::ended(Ticket ticket, const ModelOutcome& outcome) {
  std::vector<Waiting> ready;
  {
    const std::lock_guard lock(mutex_);
    const auto running = running_.find(ticket);
    if (running == running_.end()) return;
    Lane& lane = lanes_[running->second.model];
    running_.erase(running);
    --lane.running;
    const auto* failure = std::get_if<ModelFailure>(&outcome.value);
    if (failure && failure->kind == FailureClass::overloaded) {
      lane.limit = std::max<std::size_t>(std::min(lane.limit, lane.running + 1) / 2, 1);
      lane.good = 0;
    } else if (!failure && lane.limit < lane.limit_max && ++lane.good >= lane.limit) {
      ++lane.limit;
      lane.good = 0;
    }
    next(lane, ready);
  }
  for (Waiting& each : ready)
    launch(std::move(each));
}

void ModelGateway::cancel(Ticket ticket) {
  ModelClient::Ticket at_client = 0;
  std::vector<Waiting> ready;
  {
    const std::lock_guard lock(mutex_);
    const auto running = running_.find(ticket);
    if (running == running_.end()) {
      for (auto& [model, lane] : lanes_)
        std::erase_if(lane.queue, [&](const Waiting& each) { return each.ticket == ticket; });
      return;
    }
    if (running->second.at_client == 0) {
      running->second.cancelled = true;  // `launch` is about to start it, and will come back here
      return;
    }
    at_client = running->second.at_client;
    Lane& lane = lanes_[running->second.model];
    running_.erase(running);
    --lane.running;
    next(lane, ready);
  }
  client_.cancel(at_client);
  for (Waiting& each : ready)
    launch(std::move(each));
}

std::size_t ModelGateway::in_flight() const {
  const std::lock_guard lock(mutex_);
  return running_.size();
}

}  // namespace ratchet
