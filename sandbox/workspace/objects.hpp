#pragma once
// The bytes of all snapshots, each content once: a file named by its SHA-256, as `objects/ab/cdef…`. What an
// owner may execute is a second file of the same content, `….x`, because workspaces are restored as hard
// links to objects and the bit belongs to the inode. The time of its last write belongs there too: an object
// has that of the file that it was made of, and a file with another one is restored as a copy.
//
// An object is written under another name, made durable, and only then gets its own; it never changes after
// that. It belongs to the user of the tools and shows them the mode that a file of theirs has, so what keeps
// it from being written is not its mode: the directory is closed to everybody else, and a workspace shows
// objects only through the lower layer of an overlay.

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/types.h>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/hash.hpp"
#include "runtime/result.hpp"
#include "sandbox/fd.hpp"

namespace ratchet::sandbox {

struct ObjectName {
  Hash hash;
  bool executable = false;

  bool operator==(const ObjectName&) const = default;

  /// Below `objects/`.
  std::string path() const;
};

struct ObjectNameHash {
  std::size_t operator()(const ObjectName& name) const;
};

using ObjectNames = std::unordered_set<ObjectName, ObjectNameHash>;

/// The owner of objects and of restored files; -1: who runs this program.
struct FileOwner {
  uid_t uid = static_cast<uid_t>(-1);
  gid_t gid = static_cast<gid_t>(-1);
};

/// Called from any thread.
class Objects {
 public:
  /// Removes what a dead process left half written, and makes durable, meanwhile, what had got its name just
  /// before. Errors: sandbox_unavailable.
  static Result<std::unique_ptr<Objects>> open(const std::string& directory, FileOwner owner);

  /// Objects that one snapshot or one restored workspace needs, in the making. While it lives, `sweep` leaves
  /// alone whatever it has named. One thread.
  class Use {
   public:
    explicit Use(Objects& objects);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    /// Says that it is needed. Whether it is there is not looked at.
    void need(const ObjectName& name);
    /// Copies `size` bytes of a file, unless there is such an object. `mtime_ns` is the file's. Errors:
    /// workspace_refused, where the file does not have so many bytes or changes meanwhile;
    /// sandbox_unavailable.
    Result<Hash> add_file(int fd, std::uint64_t size, bool executable, std::int64_t mtime_ns);
    /// Errors: sandbox_unavailable.
    Result<Hash> add_bytes(std::string_view bytes);
    /// Returns when all that was added is durable under its name. Errors: sandbox_unavailable.
    Result<void> commit();

   private:
    friend class Objects;

    struct Pending {
      ObjectName name;
      std::string temporary;
      Fd file;
    };

    bool is_there(const ObjectName& name, std::uint64_t size);
    Result<Hash> keep(const ObjectName& name, std::string_view bytes, std::int64_t mtime_ns);
    Result<Fd> begin(std::string& temporary);
    Result<void> finish(const ObjectName& name, std::string temporary, Fd file, std::int64_t mtime_ns);
    Result<Hash> add_large(int fd, std::uint64_t size, bool executable, std::int64_t mtime_ns);
    int flush_files();

    Objects& objects_;
    ObjectNames needed_;
    ObjectNames added_;  ///< those of `pending_`
    std::vector<Pending> pending_;
  };

  /// The whole object, which must hash to its name. Errors: corrupt.
  Result<std::string> read(const ObjectName& name);
  /// Opens it. Errors: corrupt, where it is missing.
  Result<Fd> open_object(const ObjectName& name);
  /// That it is there, has this size, and hashes to its name. What this process has written or checked before
  /// and what has not been written since is not hashed again. Returns when it was
  /// last written, in nanoseconds since 1970. Errors: corrupt, with its name.
  Result<std::int64_t> verify(const ObjectName& name, std::uint64_t size);
  /// Of the object's file. False: there is none.
  bool status(const ObjectName& name, struct stat& status) const;

  /// From here to `end_sweep`, whatever a `Use` needs is remembered. One sweep at a time.
  void begin_sweep();
  /// Removes every object but these and those that a `Use` needs now or needed since `begin_sweep`. Errors:
  /// sandbox_unavailable.
  Result<void> sweep(const ObjectNames& live);
  void end_sweep();

  /// A descriptor of `objects/`.
  int directory() const { return directory_.get(); }

  const FileOwner& owner() const { return owner_; }

 private:
  struct Seen {
    ino_t inode;
    std::int64_t mtime_ns;
    std::uint64_t size;
  };

  Objects(Fd directory, Fd temporary, FileOwner owner);

  /// Waits until what was there at the start is durable. An errno, or 0.
  int flushed() const { return std::shared_future<int>(flushed_).get(); }

  bool was_verified(const ObjectName& name, const struct stat& status);
  void remember(const ObjectName& name, const struct stat& status);
  bool remove_unless_needed(const ObjectName& name, int directory, const std::string& file, int& failure);

  const Fd directory_, temporary_;
  const FileOwner owner_;
  std::atomic<std::uint64_t> next_ = 0;
  const std::shared_future<int> flushed_;

  std::mutex mutex_;
  std::unordered_map<ObjectName, Seen, ObjectNameHash> verified_;
  ObjectNames unflushed_;  ///< have their names, which a power cut could still take
  std::set<Use*> uses_;
  bool sweeping_ = false;
  ObjectNames needed_since_;  ///< by uses that ended while a sweep was under way
};

}  // namespace ratchet::sandbox
