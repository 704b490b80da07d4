#pragma once
// A directory of the test's own, gone when the test has passed.

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "runtime/result.hpp"

namespace ratchet {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ratchet-test-XXXXXX").string();
    RATCHET_ENSURE(mkdtemp(pattern.data()) != nullptr, "no temporary directory");
    path_ = pattern;
  }

  /// What a failed test leaves is kept, to be looked at.
  ~TemporaryDirectory() {
    if (::testing::Test::HasFailure()) {
      fprintf(stderr, "kept %s\n", path_.c_str());
      return;
    }
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace ratchet
