#pragma once
// The one header through which CAF is used. It smooths what bites in 0.17.6:
//   - `send` is two-way (what a handler returns goes back, and an error kills the sender), so messages only
//   travel by
//     `tell`, and a message that is not understood is dropped with a line in the log;
//   - messages carry shared boxes, so that nothing is copied and nothing needs an inspector;
//   - no links (quadratic), no `.await` (cannot be stopped), no request time-outs (never cancelled), no
//   delayed sends
//     (they keep their receiver alive): time comes from actors/timer.hpp.

#include <memory>
#include <utility>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>

namespace ratchet {

/// Fire and forget, from any thread.
template <class Message>
void tell(const caf::actor& to, Message message) {
  caf::anon_send(to, std::move(message));
}

/// What every actor of ours does about mail it does not know and about errors that reach it.
template <class Actor>
void harden(Actor* self) {
  self->set_default_handler(
      [](caf::scheduled_actor*, caf::message_view&) -> caf::result<caf::message> { return caf::message{}; });
  self->set_error_handler([](caf::scheduled_actor*, caf::error&) {});
}

/// One worker per core with a shared queue: the stealing scheduler of 0.17.6 starves actors, and without a
/// bound on messages per turn a busy actor never yields.
inline void configure(caf::actor_system_config& config, std::size_t workers) {
  config.set("scheduler.policy", caf::atom("sharing"));
  config.set("scheduler.max-threads", workers);
  config.set("scheduler.max-throughput", std::size_t{64});
}

}  // namespace ratchet
