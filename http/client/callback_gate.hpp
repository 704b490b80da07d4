#pragma once
// Whether a callback of a call may still begin: the guarantee of `cancel`, without a lock. The thread that
// calls back enters and leaves; any thread may shut. A callback that has begun when the gate is shut runs to
// its end, and none begins after that. It holds no lock during a callback, so a callback may itself cancel or
// start calls.

#include <atomic>

namespace ratchet {

class CallbackGate {
 public:
  /// False once the gate is shut; otherwise the caller is inside and must leave.
  [[nodiscard]] bool enter() {
    State expected = State::open;
    return state_.compare_exchange_strong(expected, State::inside);
  }

  void leave() {
    State expected = State::inside;
    state_.compare_exchange_strong(expected, State::open);  // fails if it was shut meanwhile: it stays shut
  }

  /// Called from any thread. After it returns `enter` answers false, for ever.
  void shut() { state_.store(State::shut); }

  bool is_shut() const { return state_.load() == State::shut; }

  /// Enters, calls, leaves. Returns false if the gate is shut or was shut during the call.
  template <class Callback>
  bool pass(Callback&& callback) {
    if (!enter()) return false;
    callback();
    leave();
    return state_.load() != State::shut;
  }

 private:
  enum class State { open, inside, shut };
  std::atomic<State> state_{State::open};
};

}  // namespace ratchet
