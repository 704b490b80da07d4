#pragma once
// What a test says, loudly, that cannot run on this machine.

#include <cstdio>
#include <string>

#include <gtest/gtest.h>

namespace ratchet {

/// Skips the test that calls it, or in whose `SetUp` it is called; the caller returns.
inline void skip_not_tested(const std::string& what, const std::string& why) {
  std::fprintf(stderr, "\n*** NOT TESTED: %s: %s ***\n\n", what.c_str(), why.c_str());
  GTEST_SKIP() << what << ": " << why;
}

}  // namespace ratchet
