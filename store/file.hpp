#pragma once
// Files beside the database: a descriptor with an owner, and reads and writes that go on until all is done.

#include <cstdint>
#include <string>
#include <string_view>

namespace ratchet {

class File {
 public:
  /// `flags` of open(2). A file that is made is for its owner only.
  File(const std::string& path, int flags);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Whether it is open; if not, errno says why.
  explicit operator bool() const { return fd_ >= 0; }

  int get() const { return fd_; }

 private:
  int fd_;
};

/// Returns an errno, or 0.
int write_all(int fd, std::string_view bytes);
/// Fills `to` from `offset` on. False, where the file ends before, or cannot be read.
bool read_all(int fd, std::string& to, std::uint64_t offset);
/// Writes a small file for its owner only, whole or not at all. Returns when it is durable: an errno, or 0.
int write_private_file(const std::string& path, std::string_view bytes);
/// Copies one. Returns an errno, or 0.
int copy_private_file(const std::string& from, const std::string& to);
/// Makes the names in a directory durable. Returns an errno, or 0.
int flush_directory(const std::string& path);

}  // namespace ratchet
