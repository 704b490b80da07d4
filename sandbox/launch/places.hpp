#pragma once
// Where the things of sandboxes are on the host: everything below one directory, named by the sandbox.

#include <string>
#include <string_view>

namespace ratchet::sandbox {

/// The directory of the sandbox in which mounts of the host appear; /workspace leads to `ws` in it.
inline constexpr std::string_view slot_inside = "/slot";

class Places {
 public:
  /// `root` is absolute: <data_dir>/sandbox.
  explicit Places(std::string root) : root_(std::move(root)) {}

  const std::string& root() const { return root_; }

  std::string guest() const { return root_ + "/guest"; }

  /// The root of all sandboxes, read-only.
  std::string rootfs() const { return root_ + "/rootfs"; }

  std::string bundles() const { return root_ + "/bundles"; }

  std::string slots() const { return root_ + "/slots"; }

  std::string states() const { return root_ + "/states"; }

  /// What the runtime remembers of its containers.
  std::string state(std::string_view runtime) const { return states() + "/" + std::string(runtime); }

  std::string bundle(std::string_view name) const { return bundles() + "/" + std::string(name); }

  /// Where gVisor writes.
  std::string log(std::string_view name) const { return bundle(name) + "/log"; }

  std::string slot(std::string_view name) const { return slots() + "/" + std::string(name); }

  std::string workspace(std::string_view name) const { return slot(name) + "/ws"; }

  /// Where OCI runtimes hand over refused system calls.
  std::string listener() const { return root_ + "/refused.sock"; }

 private:
  std::string root_;
};

}  // namespace ratchet::sandbox
