// The form of a manifest: one encoding for equal files, and nothing decoded that could not be restored.

#include "sandbox/workspace/manifest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/limits.hpp"

namespace ratchet::sandbox {

namespace {

Manifest sample() {
  return {{.path = ".config", .kind = EntryKind::directory},
          {.path = ".config/a", .size = 3, .hash = sha256("abc"), .mtime_ns = 1},
          {.path = ".config.bak", .kind = EntryKind::symlink, .target = "/etc/shadow"},
          {.path = "run", .executable = true, .size = 0, .hash = sha256(""), .mtime_ns = 300},
          {.path = "\xff\n", .kind = EntryKind::directory}};
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) {
    out += "0123456789abcdef"[static_cast<unsigned char>(byte) >> 4];
    out += "0123456789abcdef"[static_cast<unsigned char>(byte) & 15];
  }
  return out;
}

void expect_refused(const std::string& bytes) {
  const auto decoded = decode_manifest(bytes);
  ASSERT_FALSE(decoded) << hex(bytes);
  EXPECT_EQ(decoded.error().code, ErrorCode::corrupt);
}

TEST(Manifest, HasTheseBytes) {
  EXPECT_EQ(hex(encode_manifest(sample())),
            "7261746368657420776f726b737061636520320a"
            "05"
            "64072e636f6e666967"
            "66092e636f6e6669672f610301ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
            "6c0b2e636f6e6669672e62616b0b2f6574632f736861646f77"
            "780372756e00ac02e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
            "6402ff0a");
  EXPECT_EQ(to_string(sha256(encode_manifest({}))),
            "74961e6898d41de0d34c21c8f4222721c6ac70cfeced6a61008fb48b1e6505ac");
}

TEST(Manifest, IsReadAsItWasWritten) {
  for (const Manifest& manifest : {Manifest{}, sample()}) {
    const auto decoded = decode_manifest(encode_manifest(manifest));
    ASSERT_TRUE(decoded) << decoded.error().text;
    EXPECT_EQ(*decoded, manifest);
  }
}

TEST(Manifest, IsReadAsItWasWrittenWhenItHadNoTimes) {
  const std::string heading = "ratchet workspace 1\n";
  const std::string bytes =
      heading + "\x02" + "f\x01" + "a\x03" + std::string(sha256("abc").view()) + "d\x01" + "b";
  const auto decoded = decode_manifest(bytes);
  ASSERT_TRUE(decoded) << decoded.error().text;
  EXPECT_EQ(*decoded,
            (Manifest{{.path = "a", .size = 3, .hash = sha256("abc")},
                      {.path = "b", .kind = EntryKind::directory}}));
  expect_refused(bytes + '\0');
}

TEST(Manifest, RefusesAFileWithoutATime) {
  expect_refused(encode_manifest({{.path = "a"}}));
  expect_refused(encode_manifest({{.path = "a", .mtime_ns = -1}}));
}

TEST(Manifest, OrdersPathsAsAWalkMeetsThem) {
  const std::vector<std::string> paths{"a", "a/b", "a/b/c", "a/c", "a!", "a.b", "a0", "b", "\xff"};
  for (std::size_t i = 0; i < paths.size(); ++i)
    for (std::size_t j = 0; j < paths.size(); ++j)
      EXPECT_EQ(comes_before(paths[i], paths[j]), i < j) << paths[i] << " and " << paths[j];
}

TEST(Manifest, RefusesWhatIsCutOffOrFollowed) {
  const std::string bytes = encode_manifest(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    expect_refused(bytes.substr(0, size));
  expect_refused(bytes + '\0');
}

TEST(Manifest, RefusesPathsThatLeadElsewhere) {
  for (const std::string path : {"", "/", "/etc", "a/", "a//b", ".", "..", "../a", "a/..", "a/./b"})
    expect_refused(encode_manifest({{.path = "a", .kind = EntryKind::directory}, {.path = path}}));
  expect_refused(encode_manifest({{.path = std::string("a\0b", 3)}}));
  expect_refused(encode_manifest({{.path = std::string(256, 'a')}}));
}

TEST(Manifest, RefusesEntriesWithoutTheirDirectory) {
  expect_refused(encode_manifest({{.path = "a/b"}}));
  expect_refused(
      encode_manifest({{.path = "a", .kind = EntryKind::symlink, .target = "/"}, {.path = "a/b"}}));
  expect_refused(encode_manifest({{.path = "a", .mtime_ns = 1}, {.path = "a/b", .mtime_ns = 1}}));
  expect_refused(encode_manifest({{.path = "a", .kind = EntryKind::directory}, {.path = "ab/c"}}));
}

TEST(Manifest, RefusesAnotherOrder) {
  expect_refused(encode_manifest({{.path = "b", .mtime_ns = 1}, {.path = "a", .mtime_ns = 1}}));
  expect_refused(encode_manifest({{.path = "a", .mtime_ns = 1}, {.path = "a", .mtime_ns = 1}}));
}

TEST(Manifest, RefusesMoreThanAWorkspaceMayHold) {
  expect_refused(encode_manifest({{.path = "a", .size = limits::workspace_bytes_max, .mtime_ns = 1},
                                  {.path = "b", .size = 1, .mtime_ns = 1}}));
  expect_refused(encode_manifest({{.path = "a", .size = ~0ull}}));
  Manifest deep;
  std::string path;
  for (std::size_t i = 0; i <= limits::workspace_depth_max; ++i)
    deep.push_back({.path = path += i == 0 ? "d" : "/d", .kind = EntryKind::directory});
  expect_refused(encode_manifest(deep));
  deep.pop_back();
  EXPECT_TRUE(decode_manifest(encode_manifest(deep)));
}

TEST(Manifest, RefusesASecondWayToWriteTheSame) {
  std::string bytes = encode_manifest({});
  bytes.back() = '\x80';
  bytes += '\0';  // zero in two bytes
  expect_refused(bytes);
}

TEST(Manifest, ShowsPathsWithoutWhatATerminalWouldObey) {
  EXPECT_EQ(shown("a b\n\x1b[2J\xff\\"), "a b\\x0a\\x1b[2J\\xff\\x5c");
}

}  // namespace

}  // namespace ratchet::sandbox
