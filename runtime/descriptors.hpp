#pragma once
// How the files that the process may open are shared out between the connections of its clients and its own
// calls to models and tools. Both together leave `limits::other_descriptors` for the store, the log and the
// sandboxes, and neither takes the last quarter of the rest from the other. Who gets none waits: nothing
// fails for want of a descriptor.

#include <atomic>
#include <cstddef>

namespace ratchet {

/// Raises the limit of open files (RLIMIT_NOFILE) as far as it goes without privileges, and returns it.
std::size_t raise_descriptor_limit();

/// Used from any thread. Two threads may be told of the same last place: the reserve covers that.
class Descriptors {
 public:
  explicit Descriptors(std::size_t files_max);

  bool client_fits() const { return fits(clients, call_sockets); }

  /// A call counts with the idle connections that are kept for calls like it.
  bool call_fits() const;

  std::atomic<std::size_t> clients{0};       ///< connections that are open; the HTTP server counts
  std::atomic<std::size_t> calls{0};         ///< under way; the transport counts
  std::atomic<std::size_t> call_sockets{0};  ///< its open sockets, idle ones too

 private:
  bool fits(std::size_t mine, std::size_t others) const {
    return mine < side_max_ && mine + others < both_max_;
  }

  const std::size_t both_max_, side_max_;
};

}  // namespace ratchet
