#pragma once
// System calls that a sandbox was refused: evidence, even where the wall held. In tier 2 the kernel stops the
// caller and asks us (seccomp's notification); we count, and answer no. Source: seccomp_unotify(2); OCI
// runtime-spec 1.0, config-linux.md, "seccomp", the container process state.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"

namespace ratchet::sandbox {

/// Of one sandbox. Any thread.
class Refusals {
 public:
  /// Counts what `next` names while nobody can ask: what was being answered when somebody asked is in what he
  /// is told. Empty: nothing was refused.
  void add(const std::function<std::string()>& next);

  struct Taken {
    std::uint32_t count = 0;
    std::vector<std::string> names;  ///< each once, at most limits::sandbox_names_max
  };

  /// Since it was asked last.
  Taken take();

 private:
  std::mutex mutex_;
  Taken since_;
};

/// Answers the refused calls of all sandboxes of a launcher, on one thread of its own.
class RefusalListener {
 public:
  /// Listens on a socket at `path`; what is there goes. Errors: sandbox_unavailable (also a path that is too
  /// long for a socket).
  static Result<std::unique_ptr<RefusalListener>> open(const std::string& path);
  ~RefusalListener();

  /// The container `name` is about to start.
  std::shared_ptr<Refusals> expect(const std::string& name);
  /// It has ended.
  void forget(const std::string& name);

 private:
  class Loop;
  explicit RefusalListener(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
};

}  // namespace ratchet::sandbox
