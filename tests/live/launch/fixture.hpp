#pragma once
// Sandboxes of this machine, each test with a node of its own: a data directory, a label, a program that
// stands in for the guest.

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <poll.h>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sandbox/launch/files.hpp"
#include "sandbox/launch/namespaces.hpp"
#include "sandbox/launch/probe.hpp"
#include "sandbox/launch/rootfs.hpp"
#include "sandbox/launch/slot.hpp"
#include "tests/fakes/directory.hpp"

namespace ratchet::sandbox {

/// Of this process, entered once, before any thread.
inline const Namespaces& live_namespaces() {
  static const Namespaces entered = enter_namespaces();
  return entered;
}

inline std::string random_label() {
  std::random_device random;
  return fmt::format("ratchet-{:08x}", random());
}

/// What a node has, without the node.
class LiveNode {
 public:
  explicit LiveNode(const std::string& data_dir,
                    std::string label = random_label(),
                    const Namespaces& entered = live_namespaces())
      : label_(std::move(label)), machine_{Places(data_dir + "/sandbox"), find_cgroups(), entered} {}

  Result<void> set_up() {
    const auto& places = machine_.places;
    if (auto made = make_directory(places.root(), 0755); !made) return made;
    auto root = Rootfs::mount(places);
    if (!root) return tl::unexpected(root.error());
    rootfs_ = *std::move(root);
    // A shell says and does whatever a test wants; what the real one does is its own tests' business.
    if (auto made = write_new(places.guest(), "#!/bin/sh\nexec /bin/sh\n", 0755); !made) return made;
    if (auto shared = share_slots(places); !shared) return shared;
    auto listener = RefusalListener::open(places.listener());
    if (!listener) return tl::unexpected(listener.error());
    listener_ = *std::move(listener);
    return {};
  }

  std::unique_ptr<Launcher> launcher(std::uint32_t tier, const TierOptions& options) {
    return make_launcher(tier, options, machine_, listener_.get(), label_);
  }

  std::string name(int number) const { return fmt::format("{}-{}", label_, number); }

  const std::string& label() const { return label_; }

  const Machine& machine() const { return machine_; }

  RefusalListener* listener() { return listener_.get(); }

 private:
  std::string label_;
  Machine machine_;
  std::unique_ptr<Rootfs> rootfs_;
  std::unique_ptr<RefusalListener> listener_;
};

/// Talks to a shell in a sandbox, by lines.
class Shell {
 public:
  explicit Shell(Started started) : started_(std::move(started)) {}

  void say(std::string line) {
    line += '\n';
    ASSERT_EQ(::write(started_.to_guest.get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }

  /// The next line; nothing when it has ended, or nothing came for a minute.
  std::optional<std::string> line() {
    for (;;) {
      if (const auto end = pending_.find('\n'); end != std::string::npos) {
        auto line = pending_.substr(0, end);
        pending_.erase(0, end + 1);
        return line;
      }
      pollfd ready{started_.from_guest.get(), POLLIN, 0};
      char bytes[4'096];
      if (::poll(&ready, 1, 60'000) <= 0) return std::nullopt;
      const auto count = ::read(started_.from_guest.get(), bytes, sizeof bytes);
      if (count <= 0) return std::nullopt;
      pending_.append(bytes, static_cast<std::size_t>(count));
    }
  }

  std::string ask(std::string command) {
    say(std::move(command));
    return line().value_or("(no answer)");
  }

  bool has_something() const {
    pollfd ready{started_.from_guest.get(), POLLIN, 0};
    return !pending_.empty() || ::poll(&ready, 1, 0) != 0;
  }

  Launched& sandbox() { return *started_.sandbox; }

  void hang_up() { started_.to_guest = Fd(); }

 private:
  Started started_;
  std::string pending_;
};

}  // namespace ratchet::sandbox
