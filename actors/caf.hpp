#pragma once
// The one header through which CAF is used. It smooths what bites in 0.17.6:
//   - `send` is two-way (what a handler returns goes back, and an error kills the sender), so messages only
//   travel by
//     `tell`, and a message that is not understood is dropped with a line in the log;
//   - messages carry shared boxes, so that nothing is copied and nothing needs an inspector;
//   - no links (quadratic), no `.await` (cannot be stopped), no request time-outs (never cancelled), no
//   delayed sends
//     (they keep their receiver alive): time comes from actors/timer.hpp.

#include <exception>
#include <functional>
#include <memory>
#include <string>
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

/// What every actor of ours does about mail it does not know, about errors that reach it, and about
/// exceptions: the actor ends, `on_exception` is told what was thrown, and whoever watches the actor sees
/// that it failed.
template <class Actor>
void harden(Actor* self, std::function<void(const std::string&)> on_exception) {
  self->set_exception_handler(
      [on_exception = std::move(on_exception)](std::exception_ptr& thrown) -> caf::error {
        try {
          std::rethrow_exception(thrown);
        } catch (const std::exception& exception) {
          on_exception(exception.what());
        } catch (...) {
          on_exception("something that is no std::exception");
        }
        return caf::exit_reason::unhandled_exception;
      });
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
