#pragma once
// The door to the model providers: one attempt of one call. Retries and fail-over are decided in the core.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "runtime/ids.hpp"
#include "runtime/model/config.hpp"
#include "runtime/model/reply.hpp"

namespace ratchet {

/// The bytes of a request in pieces that are shared with the run's context, so that nothing is copied to send
/// it.
using Body = std::vector<std::shared_ptr<const std::string>>;

struct ModelCall {
  RunId run_id;
  std::uint32_t step = 0;
  std::uint32_t attempt = 1;
  std::string model;           ///< the server's name: finds the key
  std::uint32_t provider = 0;  ///< index into the model's providers
  ProviderConfig endpoint;     ///< as the run pinned it
  std::int64_t first_byte_timeout_ms = 120'000;
  CallPurpose purpose = CallPurpose::step;
  Body body;
};

struct ModelOutcome {
  std::variant<ModelReply, ModelFailure> value;
  std::int64_t latency_ms = 0;
  std::int64_t ttft_ms = 0;
};

class ModelClient {
 public:
  virtual ~ModelClient() = default;
  using Ticket = std::uint64_t;
  /// `index` is the byte offset of `text` in the reply's text so far.
  using OnDelta = std::function<void(std::uint64_t index, std::string_view text)>;
  using OnDone = std::function<void(ModelOutcome)>;
  /// Starts the attempt and returns at once. The callbacks run on a thread of the client and must not block;
  /// `on_done` is called exactly once, unless `cancel` came before. Called from any thread.
  virtual Ticket start(ModelCall call, OnDelta on_delta, OnDone on_done) = 0;
  /// Closes the connection. After it returns, no callback of this ticket begins any more.
  virtual void cancel(Ticket ticket) = 0;
};

}  // namespace ratchet
