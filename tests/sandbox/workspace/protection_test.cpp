// Paths that a run does not change, whatever it does around them.

#include "sandbox/workspace/protection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sandbox/workspace/fixture.hpp"

namespace ratchet {

namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class Protection : public WorkspaceFixture {
 protected:
  /// A workspace with a repository, made where nothing was protected yet.
  void SetUp() override {
    options_.overlay = false;
    options_.read_only_paths = {};
    start();
    must_open(1);
    fs::create_directories(at(1, ".git/hooks"));
    write(at(1, ".git/config"), "[core]\n");
    write(at(1, ".git/hooks/pre-commit"), "true\n");
    write(at(1, ".git/HEAD"), "ref: refs/heads/main\n");
    repository_ = snapshot(1);
    options_.read_only_paths = {".git/config", ".git/hooks", ".bashrc"};
    start();
    must_open(1, repository_);
  }

  Hash repository_;
};

TEST_F(Protection, LetsEverythingElseChange) {
  write(at(1, ".git/HEAD"), "ref: refs/heads/other\n");
  write(at(1, ".git/hooks.txt"), "not the directory");
  write(at(1, "file"), "file");
  EXPECT_NE(snapshot(1), repository_);
}

TEST_F(Protection, RefusesWhatIsChangedAddedOrRemoved) {
  write(at(1, ".git/config"), "[core]\nfsmonitor = evil\n");
  EXPECT_THAT(refusal(1), HasSubstr(".git/config: "));
  must_open(1, repository_);
  write(at(1, ".git/hooks/post-checkout"), "evil");
  EXPECT_THAT(refusal(1), HasSubstr(".git/hooks/post-checkout: "));
  must_open(1, repository_);
  fs::remove(at(1, ".git/hooks/pre-commit"));
  EXPECT_THAT(refusal(1), HasSubstr(".git/hooks/pre-commit: "));
  must_open(1, repository_);
  fs::permissions(at(1, ".git/hooks/pre-commit"), fs::perms::owner_exec, fs::perm_options::add);
  EXPECT_THAT(refusal(1), HasSubstr(".git/hooks/pre-commit: "));
}

TEST_F(Protection, RefusesWhatWasNotThere) {
  write(at(1, ".bashrc"), "evil");
  EXPECT_THAT(refusal(1), HasSubstr(".bashrc: "));
  must_open(1);
  fs::create_directories(at(1, ".git"));
  snapshot(1);
  write(at(1, ".git/config"), "evil");
  EXPECT_THAT(refusal(1), HasSubstr(".git/config: "));
}

TEST_F(Protection, RefusesAWayAround) {
  fs::rename(at(1, ".git"), at(1, "git"));
  EXPECT_THAT(refusal(1), HasSubstr(".git/config: "));
  must_open(1);
  fs::create_directories(at(1, "elsewhere/hooks"));
  fs::create_symlink("elsewhere", at(1, ".git"));
  EXPECT_THAT(refusal(1), HasSubstr(".git: "));
  fs::remove(at(1, ".git"));
  write(at(1, ".git"), "gitdir: elsewhere\n");
  EXPECT_THAT(refusal(1), HasSubstr(".git: "));
}

TEST_F(Protection, HoldsInEveryDirectory) {
  for (const char* clone : {"sub", "sub/deeper/still"}) {
    must_open(1);
    fs::create_directories(at(1, std::string(clone) + "/.git/objects"));
    write(at(1, std::string(clone) + "/.git/HEAD"), "ref: refs/heads/main\n");
    snapshot(1);
    write(at(1, std::string(clone) + "/.git/config"), "[core]\nfsmonitor = evil\n");
    EXPECT_THAT(refusal(1), HasSubstr(std::string(clone) + "/.git/config: "));
    fs::remove(at(1, std::string(clone) + "/.git/config"));
    fs::create_directories(at(1, std::string(clone) + "/.git/hooks"));
    EXPECT_THAT(refusal(1), HasSubstr(std::string(clone) + "/.git/hooks: "));
    fs::remove_all(at(1, std::string(clone) + "/.git"));
    fs::create_symlink("../elsewhere", at(1, std::string(clone) + "/.git"));
    EXPECT_THAT(refusal(1), HasSubstr(std::string(clone) + "/.git: "));
  }
}

TEST_F(Protection, LetsAProtectedFileBeTouched) {
  set_written(at(1, ".git/config"), 1'000'000'000);
  snapshot(1);
}

TEST_F(Protection, RefusesPathsThatAreNone) {
  for (const std::string path : {"", "/etc", "../x", "a//b", "a/", "."}) {
    options_.read_only_paths = {path};
    const auto opened = LocalWorkspaces::open(options_);
    ASSERT_FALSE(opened) << path;
    EXPECT_EQ(opened.error().code, ErrorCode::invalid_request);
  }
  EXPECT_TRUE(sandbox::check_protected_paths(sandbox::default_protected_paths()));
}

}  // namespace

}  // namespace ratchet
