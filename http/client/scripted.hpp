#pragma once
// A model that plays scenario files: for the demo, for tests and for evaluation, without a network. It is
// stateless: what it says follows from the request, so it goes on with a run after a crash of the server.

#include <memory>
#include <string>

#include "runtime/model/client.hpp"
#include "runtime/result.hpp"

namespace ratchet {

class ScriptedClient final : public ModelClient {
 public:
  ScriptedClient();
  /// Calls under way end without a callback.
  ~ScriptedClient() override;

  /// Reads a file now, so that its mistakes show at the start of a server; later calls use what was read,
  /// whatever becomes of the file. Called from any thread. Errors: those of `load_scenarios`.
  Result<void> load(const std::string& path);

  /// Plays `call.endpoint.scenario_file`, which is read at its first use where `load` was not called. A file
  /// that cannot be used is a failure of class `permanent`.
  Ticket start(ModelCall call, OnDelta on_delta, OnDone on_done) override;
  void cancel(Ticket ticket) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ratchet
