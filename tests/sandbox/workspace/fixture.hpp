#pragma once
// Workspaces in a directory of the test's own, asked one thing after the other.

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "runtime/ids.hpp"
#include "sandbox/workspace/local_workspaces.hpp"
#include "tests/fakes/directory.hpp"

namespace ratchet {

inline RunId workspace_run(std::uint8_t n) {
  RunId run;
  run.ulid.bytes.fill(n);
  return run;
}

class WorkspaceFixture : public testing::Test {
 protected:
  WorkspaceFixture() { options_.data_dir = data_.path(); }

  /// As after a start of the process.
  void start() {
    workspaces_.reset();
    auto opened = LocalWorkspaces::open(options_);
    ASSERT_TRUE(opened) << opened.error().text;
    workspaces_ = std::move(*opened);
  }

  Result<void> open(std::uint8_t run, std::optional<Hash> snapshot = std::nullopt) {
    return wait<void>([&](auto done) { workspaces_->open(workspace_run(run), snapshot, done); });
  }

  void must_open(std::uint8_t run, std::optional<Hash> snapshot = std::nullopt) {
    const auto opened = open(run, snapshot);
    ASSERT_TRUE(opened) << opened.error().text;
  }

  Result<Hash> try_snapshot(std::uint8_t run) {
    return wait<Hash>([&](auto done) { workspaces_->snapshot(workspace_run(run), done); });
  }

  Hash snapshot(std::uint8_t run) {
    const auto taken = try_snapshot(run);
    EXPECT_TRUE(taken) << taken.error().text;
    return taken.value_or(Hash{});
  }

  /// The text of why it was refused.
  std::string refusal(std::uint8_t run) {
    const auto taken = try_snapshot(run);
    EXPECT_FALSE(taken);
    if (taken) return "";
    EXPECT_EQ(taken.error().code, ErrorCode::workspace_refused) << taken.error().text;
    return taken.error().text;
  }

  void close(std::uint8_t run) {
    const auto closed = wait<void>([&](auto done) { workspaces_->close(workspace_run(run), done); });
    EXPECT_TRUE(closed) << closed.error().text;
  }

  Result<void> sweep(std::vector<Hash> live) {
    return wait<void>([&](auto done) { workspaces_->sweep(live, done); });
  }

  std::string at(std::uint8_t run, const std::string& path) const {
    return data_.path() + "/sandbox/workspaces/" + to_string(workspace_run(run).ulid) + "/merged/" + path;
  }

  std::string object_path(const Hash& hash, bool executable = false) const {
    const std::string hex = to_string(hash);
    return data_.path() + "/sandbox/objects/" + hex.substr(0, 2) + '/' + hex.substr(2) +
           (executable ? ".x" : "");
  }

  std::size_t objects() const {
    std::size_t count = 0;
    for (const auto& each : std::filesystem::recursive_directory_iterator(data_.path() + "/sandbox/objects"))
      count += each.is_regular_file();
    return count;
  }

  static void write(const std::string& path, std::string_view bytes) {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out << bytes;
    out.close();
    EXPECT_TRUE(out) << path;
  }

  /// Of a file, to the nanosecond.
  static void set_written(const std::string& path, std::int64_t seconds, long ns = 0) {
    const timespec times[] = {{0, UTIME_OMIT}, {seconds, ns}};
    EXPECT_EQ(utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW), 0) << path;
  }

  static std::int64_t written_ns(const std::string& path) {
    struct stat status{};
    EXPECT_EQ(lstat(path.c_str(), &status), 0) << path;
    return status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
  }

  static std::string read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    EXPECT_TRUE(in) << path;
    return {std::istreambuf_iterator<char>(in), {}};
  }

  TemporaryDirectory data_;
  LocalWorkspacesOptions options_;
  std::unique_ptr<LocalWorkspaces> workspaces_;

 private:
  template <class T, class Ask>
  static Result<T> wait(Ask ask) {
    std::promise<Result<T>> told;
    ask([&told](Result<T> result) { told.set_value(std::move(result)); });
    return told.get_future().get();
  }
};

}  // namespace ratchet
