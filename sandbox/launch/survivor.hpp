#pragma once
// What a killed node cannot do any more. Its sandboxes end with their pipes, but one that is frozen can
// neither read nor end. So the node has a small process beside it, which waits for its end and then clears
// away.

#include <string_view>

#include "runtime/result.hpp"
#include "sandbox/fd.hpp"
#include "sandbox/launch/places.hpp"

namespace ratchet::sandbox {

/// The process ends with this one, however this one ends, after what was entrusted to it. It has a session of
/// its own and takes no notice of the signals by which a service is told to stop.
class Survivor {
 public:
  /// None: what a killed node leaves waits for the next start.
  Survivor() = default;

  /// Starts it. To be called once, after `enter_namespaces`, while this process has one thread, and before it
  /// has anything open that is to be closed with it. Errors: sandbox_unavailable.
  static Result<Survivor> start();

  /// Sandboxes named <label>-… below these places are to be removed when this process is gone (`sweep`). The
  /// label must not be used by anybody else, also not by the node's next start. Once. Errors:
  /// sandbox_unavailable (it is dead).
  Result<void> entrust(const Places& places, std::string_view label);

 private:
  explicit Survivor(Fd orders) : orders_(std::move(orders)) {}

  Fd orders_;  ///< a pipe that nobody else holds: its end is the end of this process
};

}  // namespace ratchet::sandbox
