#pragma once
// The root of all sandboxes: links into /usr, an /etc of its own, empty directories to mount on. Nothing of
// the host's but /usr, the dynamic linker's cache, the links of /etc/alternatives and the public
// certificates.
//
// It is one tree that stands before any sandbox does, with /usr in it, and not a mount of each sandbox's: so
// gVisor knows that nobody else changes it, and keeps what it has looked up. It lies in memory, in the mount
// namespace of this process, and leaves nothing when that ends, however it ends. On disk there is an empty
// directory, so that whoever removes the directory of a dead node cannot reach into /usr.

#include <memory>
#include <string>

#include "runtime/result.hpp"
#include "sandbox/launch/places.hpp"

namespace ratchet::sandbox {

class Rootfs {
 public:
  /// Mounts it at `places.rootfs()`, whose parent exists; one that is there is taken away first. Only in a
  /// mount namespace of our own (namespaces.hpp). Errors: sandbox_unavailable; nothing is left then.
  static Result<std::unique_ptr<Rootfs>> mount(const Places& places);
  /// Takes it away. Sandboxes that still run keep it.
  ~Rootfs();
  Rootfs(const Rootfs&) = delete;
  Rootfs& operator=(const Rootfs&) = delete;

 private:
  explicit Rootfs(std::string path) : path_(std::move(path)) {}

  const std::string path_;
};

}  // namespace ratchet::sandbox
