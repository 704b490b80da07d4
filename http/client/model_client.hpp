#pragma once
// Model calls over HTTP: the codec of the provider's protocol says what to send and reads what comes, the
// transport carries it. Calls of the protocol `scripted` go to the player of scenarios.

#include <memory>

#include "http/client/key_ring.hpp"
#include "http/client/scripted.hpp"
#include "http/client/transport.hpp"
#include "runtime/model/client.hpp"
#include "runtime/time.hpp"

namespace ratchet {

struct ModelClientShared;

class CurlModelClient final : public ModelClient {
 public:
  /// `transport`, `scripted` and `clock` are borrowed. Calls that are still under way when the client is
  /// destroyed go on, so they must have ended, or the transport must be destroyed first. The clock is only
  /// asked what a `retry-after` date means; latencies are measured by a clock that never jumps.
  CurlModelClient(Transport& transport, ScriptedClient& scripted, Clock& clock, KeyRing keys);
  ~CurlModelClient() override;

  /// `latency_ms` is from here to the end of the reply, `ttft_ms` to the first byte of its body. Text that
  /// arrives together is one delta.
  Ticket start(ModelCall call, OnDelta on_delta, OnDone on_done) override;
  void cancel(Ticket ticket) override;

 private:
  Transport& transport_;
  ScriptedClient& scripted_;
  std::shared_ptr<ModelClientShared> shared_;
};

}  // namespace ratchet
