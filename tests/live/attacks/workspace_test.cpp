// Files that are made to harm whoever keeps, restores or later uses them.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "tests/live/attacks/fixture.hpp"

namespace ratchet::attacks {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class WorkspaceAttack : public Attack {
 protected:
  SandboxId in_workspace(std::optional<Hash> snapshot = std::nullopt, std::uint8_t run = 1) {
    return leased({.filesystem = Filesystem::workspace, .run = run}, snapshot);
  }

  Hash taken(std::uint8_t run = 1) {
    const auto hash = snapshot(run);
    EXPECT_TRUE(hash) << hash.error().text;
    return hash.value_or(Hash{});
  }

  /// Whether some object of the store has this text.
  bool is_kept(const std::string& text) const {
    for (const auto& each : fs::recursive_directory_iterator(data_dir() + "/sandbox/objects")) {
      std::ostringstream bytes;
      if (each.is_regular_file()) bytes << std::ifstream(each.path()).rdbuf();
      if (bytes.str().find(text) != std::string::npos) return true;
    }
    return false;
  }

  void end(SandboxId id, std::uint8_t run = 1) {
    EXPECT_TRUE(destroy(id));
    const auto closed = close(run);
    EXPECT_TRUE(closed) << closed.error().text;
  }
};

RATCHET_ATTACKS(WorkspaceAttack);

TEST_P(WorkspaceAttack, LinksAreKeptAndNotFollowed) {
  std::ofstream(data_dir() + "/secret") << "a secret of the host";
  const auto id = in_workspace();
  const auto made =
      shell(id,
            fmt::format("ln -s {0}/secret out.txt; ln -s /etc/shadow shadow; ln -s / root; ln -s . self; "
                        "ln -s ../../../../../..{0} up; ln -s loop loop; echo kept > kept",
                        data_dir()));
  ASSERT_EQ(made.code, 0) << made.err;
  const auto hash = taken();
  EXPECT_FALSE(is_kept("a secret of the host"));
  EXPECT_TRUE(is_kept("kept"));
  end(id);
  const auto next = in_workspace(hash);
  EXPECT_EQ(shell(next, "readlink out.txt root self; cat out.txt 2>/dev/null; cat up/secret 2>/dev/null").out,
            data_dir() + "/secret\n/\n.\n");
  // What the server puts there goes through the same door as everything of the tool's.
  EXPECT_EQ(run(next, {std::string(guest_program), "write", "shadow"}, "mine").code, 0);
  EXPECT_EQ(shell(next, "cat shadow; readlink shadow").out, "mine") << "in the place of the link";
  EXPECT_NE(run(next, {std::string(guest_program), "write", "root/usr/x"}, "mine").code, 0);
  end(next);
}

TEST_P(WorkspaceAttack, WhatIsNoFileIsLeftOut) {
  const auto id = in_workspace();
  const auto made = python(id,
                           "import os, socket\n"
                           "os.mkfifo('fifo')\n"
                           "socket.socket(socket.AF_UNIX).bind('socket')\n"
                           "open('file', 'w').write('x')\n"
                           "os.truncate('file', 2**24)\n"
                           "os.chmod('file', 0o4755)\n"
                           "os.mkdir('closed'); open('closed/in', 'w').write('in'); os.chmod('closed', 0)\n");
  ASSERT_EQ(made.code, 0) << made.err;
  const auto hash = taken();
  end(id);
  const auto next = in_workspace(hash);
  EXPECT_EQ(shell(next, "find . -type f | sort; find . -type p -o -type s; stat -c %a:%s file").out,
            "./closed/in\n./file\n755:16777216\n");
  end(next);
}

TEST_P(WorkspaceAttack, NamesOfAllKindsComeBack) {
  const char* list =
      "import os\n"
      "print(sorted((d, sorted(f)) for d, _, f in os.walk(b'.')))\n";
  const auto id = in_workspace();
  const auto made = python(id, R"(
import os
for name in b'new\nline', b'\xff\xfe', b'-rf', b' ', b'x' * 255, b'"\'\\', b'$(id)', b'\x1b[2J', b'~', b'a:b,c=d', b'*':
  os.mkdir(name)
  open(os.path.join(name, name), 'wb').write(name)
)");
  ASSERT_EQ(made.code, 0) << made.err;
  const auto before = python(id, list);
  const auto hash = taken();
  end(id);
  const auto next = in_workspace(hash);
  EXPECT_EQ(python(next, list).out, before.out);
  end(next);
}

TEST_P(WorkspaceAttack, DepthIsRefusedAndRemoved) {
  const auto id = in_workspace();
  const auto made = python(id, R"(
import os
for i in range(600):
  os.mkdir('d' * 100)
  os.chdir('d' * 100)
)");
  ASSERT_EQ(made.code, 0) << made.err;
  const auto refused = snapshot(1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::workspace_refused);
  end(id);
}

TEST_P(WorkspaceAttack, SizeThatIsNotThereIsRefused) {
  if (own_kernel()) return;  // the host counts the same files, and they take it seconds
  const auto id = in_workspace();
  const auto made = python(id, R"(
import os
for name in 'a', 'b', 'c': os.truncate(os.open(name, os.O_CREAT | os.O_WRONLY), 2**30 - 1)
)");
  ASSERT_EQ(made.code, 0) << made.err;
  const auto refused = snapshot(1);
  ASSERT_FALSE(refused) << "three GiB of nothing";
  EXPECT_EQ(refused.error().code, ErrorCode::workspace_refused);
  end(id);
}

TEST_P(WorkspaceAttack, TheStoreIsNotReachedThroughRestoredFiles) {
  const auto id = in_workspace();
  ASSERT_EQ(shell(id, "echo first > file; echo same > same").code, 0);
  const auto hash = taken();
  end(id);
  const auto second = in_workspace(hash);
  const auto wrote =
      shell(second,
            "ln file hard; echo poison > hard; chmod 777 same; printf 'POISON' | dd of=same conv=notrunc "
            "2>/dev/null; touch -d '2001-01-01' same; mv file moved; cat hard moved");
  EXPECT_EQ(wrote.out, "poison\npoison\n") << wrote.err;
  const auto changed = taken();
  EXPECT_NE(changed, hash);
  end(second);
  const auto third = in_workspace(hash, 2);
  EXPECT_EQ(shell(third, "cat file same; ls").out, "first\nsame\nfile\nsame\n");
  end(third, 2);
  const auto fourth = in_workspace(changed, 3);
  EXPECT_EQ(shell(fourth, "cat hard moved").out, "poison\npoison\n");
  end(fourth, 3);
}

TEST_P(WorkspaceAttack, AChangeBehindSizeAndTimeIsSeen) {
  const auto id = in_workspace();
  ASSERT_EQ(shell(id, "printf one > file; touch -d '2001-01-01' file").code, 0);
  const auto before = taken();
  ASSERT_EQ(shell(id, "printf two > file; touch -d '2001-01-01' file").code, 0);
  EXPECT_NE(taken(), before);
  end(id);
}

TEST_P(WorkspaceAttack, TrapsForLaterAreRefused) {
  for (const char* trap : {"mkdir -p .git/hooks; echo id > .git/hooks/pre-commit",
                           "mkdir .git; printf '[core]\\nfsmonitor = id\\n' > .git/config",
                           "mkdir -p real/hooks; echo id > real/hooks/pre-commit; ln -s real .git",
                           "mkdir real; echo 'gitdir: real' > .git",
                           "ln -s notes .bashrc; echo id > notes",
                           "mkdir .vscode; echo {} > .vscode/tasks.json"}) {
    const auto id = in_workspace();
    ASSERT_EQ(shell(id, trap).code, 0) << trap;
    const auto refused = snapshot(1);
    ASSERT_FALSE(refused) << trap;
    EXPECT_EQ(refused.error().code, ErrorCode::workspace_refused) << trap;
    end(id);
  }
}

TEST_P(WorkspaceAttack, MarksOfTheOverlayAreNotTheTools) {
  const auto id = in_workspace();
  ASSERT_EQ(shell(id, "mkdir dir; echo below > dir/file; echo target > target").code, 0);
  const auto hash = taken();
  end(id);
  const auto next = in_workspace(hash);
  const auto end_of = attacks(next, R"(
for name in 'trusted.overlay.opaque', 'trusted.overlay.redirect', 'trusted.overlay.metacopy':
  attack(name, lambda: os.setxattr('dir', name, b'y'))
capability = struct.pack('<5I', 0x02000001, 1 << 21, 0, 0, 0)
attack('security.capability', lambda: os.setxattr('target', 'security.capability', capability))
attack('whiteout', lambda: os.mknod('target2', 0o20000, 0))
attack('work', lambda: os.listdir('/workspace/../work'))
)");
  expect_outcomes(end_of,
                  {{"trusted.overlay.opaque", "EPERM|EOPNOTSUPP|ENOTSUP"},
                   {"trusted.overlay.redirect", "EPERM|EOPNOTSUPP|ENOTSUP"},
                   {"trusted.overlay.metacopy", "EPERM|EOPNOTSUPP|ENOTSUP"},
                   {"security.capability", "EPERM|EOPNOTSUPP|ENOTSUP"},
                   {"whiteout", "EPERM"},
                   {"work", "ENOENT"}});
  EXPECT_EQ(taken(), hash) << "nothing has changed";
  end(next);
}

TEST_P(WorkspaceAttack, SpaceEndsAtItsBound) {
  const auto id = leased({.limits = {2'048, 1'000, 64}, .filesystem = Filesystem::workspace});
  const auto filled = attacks(id, R"(
def fill():
  for i in range(3):
    with open('big%d' % i, 'wb') as f: os.posix_fallocate(f.fileno(), 0, 700 * 2**20)
attack('fill', fill)
)");
  expect_outcomes(filled, {{"fill", "ENOSPC"}});
  end(id);
}

}  // namespace
}  // namespace ratchet::attacks
