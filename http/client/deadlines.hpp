#pragma once
// Deadlines of many calls, most of which are moved far more often than they fire: each byte of a reply moves
// one. So moving a deadline later only writes it down, and the order learns of it when the old entry comes
// up. A call has at most one entry.

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

namespace ratchet {

class Deadlines {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// A call's part of it, kept inside the call.
  struct Slot {
    Time at = Time::max();      ///< when it is due; max: never
    Time queued = Time::max();  ///< its entry in the order; max: none
  };

  void set(std::uint64_t ticket, Slot& slot, Time at) {
    slot.at = at;
    if (at >= slot.queued) return;
    remove(ticket, slot);
    slot.queued = at;
    order_.emplace(at, ticket);
  }

  void remove(std::uint64_t ticket, Slot& slot) {
    if (slot.queued != Time::max()) order_.erase({slot.queued, ticket});
    slot.queued = Time::max();
  }

  /// The earliest moment at which `expire` has something to look at.
  std::optional<Time> next() const {
    if (order_.empty()) return std::nullopt;
    return order_.begin()->first;
  }

  /// Calls `expired(ticket)` for each call that is due at `now`. `slot_of(ticket)` gives its slot. `expired`
  /// may remove any call.
  template <class SlotOf, class Expired>
  void expire(Time now, SlotOf&& slot_of, Expired&& expired) {
    while (!order_.empty() && order_.begin()->first <= now) {
      const std::uint64_t ticket = order_.begin()->second;
      Slot& slot = slot_of(ticket);
      const Time at = slot.at;
      remove(ticket, slot);
      if (at <= now)
        expired(ticket);
      else
        set(ticket, slot, at);
    }
  }

 private:
  std::set<std::pair<Time, std::uint64_t>> order_;
};

}  // namespace ratchet
