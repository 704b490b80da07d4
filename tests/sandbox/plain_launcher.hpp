#pragma once
// A launcher without walls: the "sandbox" is a plain child process. What a kernel would do is done to order.

#include <atomic>
#include <csignal>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "sandbox/launch/launcher.hpp"
#include "tests/sandbox/guest_program.hpp"

namespace ratchet::sandbox {

/// What a test sees of a sandbox, and does to it, from outside.
struct PlainState {
  explicit PlainState(const std::vector<std::string>& words) : process(words) {}

  PipedProcess process;
  std::mutex mutex;  // of the process, which more than one thread ends
  std::atomic<std::uint64_t> memory_deaths = 0;
  std::atomic<bool> frozen = false, killed = false, destroyed = false;
  SandboxEvidence evidence;
  std::string name, workspace_directory;
  SandboxLimits limits;
};

class PlainLauncher final : public Launcher {
 public:
  explicit PlainLauncher(std::vector<std::string> words) : words_(std::move(words)) {}

  TierStatus status() const override { return {true, "plain", "", {"everything: no walls"}}; }

  Result<Started> start(std::string_view name) override {
    if (!fail_start.empty()) return fail(ErrorCode::sandbox_unavailable, fail_start);
    auto state = std::make_shared<PlainState>(words_);
    state->name = name;
    Started started{std::move(state->process.to()),
                    std::move(state->process.from()),
                    std::make_unique<Sandbox>(*this, state)};
    const std::lock_guard lock(mutex_);
    started_.push_back(std::move(state));
    return started;
  }

  /// The one that was started last.
  std::shared_ptr<PlainState> last() {
    const std::lock_guard lock(mutex_);
    return started_.empty() ? nullptr : started_.back();
  }

  std::string fail_start, fail_lease;  ///< set before it is used

 private:
  class Sandbox final : public Launched {
   public:
    Sandbox(PlainLauncher& launcher, std::shared_ptr<PlainState> state)
        : launcher_(launcher), state_(std::move(state)) {}

    Result<void> lease(const SandboxLease& lease, const std::string& workspace_directory) override {
      if (!launcher_.fail_lease.empty()) return fail(ErrorCode::sandbox_unavailable, launcher_.fail_lease);
      state_->limits = lease.limits;
      state_->workspace_directory = workspace_directory;
      return {};
    }

    Result<void> freeze() override {
      signal(SIGSTOP);
      state_->frozen = true;
      return {};
    }

    Result<void> thaw() override {
      signal(SIGCONT);
      state_->frozen = false;
      return {};
    }

    void kill() override {
      const std::lock_guard lock(state_->mutex);
      state_->process.end();
      state_->killed = true;
    }

    std::uint64_t memory_deaths() override { return state_->memory_deaths; }

    SandboxEvidence take_evidence() override { return std::exchange(state_->evidence, {}); }

    Result<void> destroy() override {
      state_->destroyed = true;
      return {};
    }

   private:
    void signal(int number) {
      const std::lock_guard lock(state_->mutex);
      state_->process.signal(number);
    }

    PlainLauncher& launcher_;
    const std::shared_ptr<PlainState> state_;
  };

  const std::vector<std::string> words_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<PlainState>> started_;
};

}  // namespace ratchet::sandbox
