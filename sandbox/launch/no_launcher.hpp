#pragma once
// A tier of which nothing can be had.

#include "sandbox/launch/launcher.hpp"

namespace ratchet::sandbox {

class NoLauncher final : public Launcher {
 public:
  /// `runtime`: the one that cannot be used, where there is one.
  NoLauncher(std::string runtime, std::string why) : status_{false, std::move(runtime), std::move(why), {}} {}

  TierStatus status() const override { return status_; }

  Result<Started> start(std::string_view) override {
    return fail(ErrorCode::sandbox_unavailable, status_.why);
  }

 private:
  const TierStatus status_;
};

}  // namespace ratchet::sandbox
