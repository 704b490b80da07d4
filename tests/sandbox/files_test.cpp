// The file tools, as a model uses them, and on files that somebody hostile has made.

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/directory.hpp"
#include "tests/sandbox/guest_program.hpp"

namespace ratchet::sandbox {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class FileTools : public testing::Test {
 protected:
  struct End {
    int status = 0;
    std::string out, err;
  };

  std::string at(const std::string& name) const { return directory_.path() + "/" + name; }

  void put(const std::string& name, const std::string& content) const {
    std::ofstream(at(name), std::ios::binary) << content;
  }

  std::string get(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(at(name), std::ios::binary).rdbuf();
    return text.str();
  }

  /// Runs the guest with those words, below the test's directory.
  End run(const std::vector<std::string>& words, const std::string& input = {}) const {
    std::ofstream(errors_.path() + "/in", std::ios::binary) << input;
    std::vector<std::string> shell = {"/bin/sh",
                                      "-c",
                                      "cd \"$1\" && in=$2 && err=$3 && shift 3 && exec \"$@\" < $in 2> $err",
                                      "sh",
                                      directory_.path(),
                                      errors_.path() + "/in",
                                      errors_.path() + "/err",
                                      guest_path()};
    shell.insert(shell.end(), words.begin(), words.end());
    PipedProcess process(shell);
    End end;
    char bytes[4'096];
    for (ssize_t count; (count = ::read(process.from().get(), bytes, sizeof bytes)) > 0;)
      end.out.append(bytes, static_cast<std::size_t>(count));
    end.status = process.wait();
    std::ostringstream text;
    text << std::ifstream(errors_.path() + "/err").rdbuf();
    end.err = text.str();
    return end;
  }

  TemporaryDirectory directory_, errors_;
};

TEST_F(FileTools, ReadsAFileOrAPartAndSaysWhatFollows) {
  put("a", "0123456789");
  EXPECT_EQ(run({"read", "a", "0", "1000"}).out, "0123456789");
  EXPECT_EQ(run({"read", "a", "0", "10"}).out, "0123456789");
  EXPECT_EQ(run({"read", "a", "2", "3"}).out, "234\n[5 of 10 bytes follow, from offset 5]\n");
  EXPECT_EQ(run({"read", "a", "10", "3"}).out, "");
  EXPECT_EQ(run({"read", "a", "11", "3"}).err, "a: it has only 10 bytes\n");
  EXPECT_EQ(run({"read", at("a"), "8", "9"}).out, "89");
}

TEST_F(FileTools, TellsWhyAFileCannotBeRead) {
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);
  fs::create_directory(at("dir"));
  fs::create_symlink("loop", at("loop"));
  EXPECT_EQ(run({"read", "none", "0", "9"}).err, "none: No such file or directory\n");
  EXPECT_EQ(run({"read", "dir", "0", "9"}).err, "dir: is a directory\n");
  EXPECT_EQ(run({"read", "fifo", "0", "9"}).err, "fifo: is not a regular file\n");
  EXPECT_EQ(run({"read", "/dev/zero", "0", "9"}).err, "/dev/zero: is not a regular file\n");
  EXPECT_EQ(run({"read", "loop", "0", "9"}).err, "loop: Too many levels of symbolic links\n");
  EXPECT_EQ(run({"read", "a\nb", "0", "9"}).err, "a\\nb: No such file or directory\n");
  EXPECT_EQ(run({"read", std::string(300, 'x'), "0", "9"}).status, 1);
  EXPECT_EQ(run({"read", "none", "-1", "9"}).status, 1);
}

TEST_F(FileTools, ReadsOnlyAsMuchOfASparseFileAsItIsAsked) {
  put("sparse", "");
  ASSERT_EQ(::truncate(at("sparse").c_str(), 1ll << 40), 0);
  const auto end = run({"read", "sparse", "0", "100"});
  EXPECT_EQ(end.out.substr(0, 100), std::string(100, '\0'));
  EXPECT_THAT(end.out, HasSubstr("of 1099511627776 bytes follow"));
}

TEST_F(FileTools, WritesAFileAndTheDirectoriesAboveIt) {
  const std::string content("bytes\0\xff\n", 8);
  EXPECT_EQ(run({"write", "a/b/c"}, content).out, "8 bytes written to a/b/c\n");
  EXPECT_EQ(get("a/b/c"), content);
  EXPECT_EQ(run({"write", "a/b/c"}).status, 0);
  EXPECT_EQ(get("a/b/c"), "");
}

TEST_F(FileTools, KeepsTheModeOfAFileAndTheLinkToIt) {
  put("script", "old");
  ::chmod(at("script").c_str(), 0750);
  fs::create_symlink("script", at("link"));
  EXPECT_EQ(run({"write", "link"}, "new").status, 0);
  EXPECT_EQ(get("script"), "new");
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(fs::status(at("script")).permissions(), fs::perms{0750});
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_.path()), fs::directory_iterator()), 2);
}

TEST_F(FileTools, TellsWhyAFileCannotBeWritten) {
  fs::create_directory(at("dir"));
  put("file", "kept");
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);
  EXPECT_EQ(run({"write", "dir"}, "x").err, "dir: is a directory\n");
  EXPECT_EQ(run({"write", "fifo"}, "x").err, "fifo: is not a regular file\n");
  EXPECT_EQ(run({"write", "file/below"}, "x").err, "file/below: Not a directory\n");
  EXPECT_EQ(run({"write", "/dev/null"}, "x").status, 1);
  EXPECT_EQ(get("file"), "kept");
}

TEST_F(FileTools, EditsWhatIsThereOnce) {
  put("a", "one two three two");
  EXPECT_EQ(run({"edit", "a", "0", "3"}, "one1").out, "1 occurrence replaced in a\n");
  EXPECT_EQ(get("a"), "1 two three two");
  EXPECT_EQ(run({"edit", "a", "0", "3"}, "two2").err,
            "a: the old text was found 2 times; give more of what is around it, or replace all\n");
  EXPECT_EQ(get("a"), "1 two three two");
  EXPECT_EQ(run({"edit", "a", "1", "3"}, "two2").out, "2 occurrences replaced in a\n");
  EXPECT_EQ(get("a"), "1 2 three 2");
  EXPECT_EQ(run({"edit", "a", "0", "6"}, " three").status, 0);
  EXPECT_EQ(get("a"), "1 2 2");
}

TEST_F(FileTools, TellsWhyNothingWasEdited) {
  put("a", "line\r\nnext\r\n");
  EXPECT_THAT(run({"edit", "a", "0", "4"}, "nonex").err, HasSubstr("was not found; read the file"));
  EXPECT_THAT(run({"edit", "a", "0", "9"}, "line\nnextx").err, HasSubstr("end with \\r\\n"));
  EXPECT_THAT(run({"edit", "a", "0", "0"}, "x").err, HasSubstr("is empty"));
  EXPECT_THAT(run({"edit", "a", "0", "9"}, "x").err, HasSubstr("is empty"));
  EXPECT_THAT(run({"edit", "a", "0", "1"}, "ll").err, HasSubstr("are equal"));
  EXPECT_EQ(run({"edit", "none", "0", "1"}, "ab").err, "none: No such file or directory\n");
}

TEST_F(FileTools, ListsADirectoryWithSizes) {
  put("b.py", "12345");
  put("a.txt", "");
  put(".hidden", "1");
  fs::create_directory(at("dir"));
  put("dir/c.py", "1");
  fs::create_symlink("/etc/shadow", at("link"));
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);
  EXPECT_EQ(run({"list", ".", "*"}).out,
            ".hidden 1\na.txt 0\nb.py 5\ndir/\nfifo (not a regular file)\nlink -> /etc/shadow\n");
  EXPECT_EQ(run({"list", ".", "*.py"}).out, "b.py 5\n");
  EXPECT_EQ(run({"list", "dir", "*"}).out, "c.py 1\n");
  EXPECT_EQ(run({"list", ".", "dir/*"}).out, "dir/c.py 1\n");
  EXPECT_EQ(run({"list", ".", "nothing"}).out, "[nothing matches]\n");
  EXPECT_EQ(run({"list", "b.py", "*"}).err, "b.py: Not a directory\n");
}

TEST_F(FileTools, ListsAllDirectoriesBelowButTheHiddenOnes) {
  fs::create_directories(at("x/y"));
  fs::create_directories(at(".git/objects"));
  put("a.py", "1");
  put("x/b.py", "1");
  put("x/y/c.py", "1");
  put("x/y/c.txt", "1");
  put(".git/objects/d.py", "1");
  fs::create_symlink("..", at("x/up"));
  EXPECT_EQ(run({"list", ".", "**/*.py"}).out, "a.py 1\nx/b.py 1\nx/y/c.py 1\n");
  EXPECT_EQ(run({"list", ".", "x/**"}).out, "x/b.py 1\nx/up -> ..\nx/y/\nx/y/c.py 1\nx/y/c.txt 1\n");
  EXPECT_EQ(run({"list", ".", "**/y/*.txt"}).out, "x/y/c.txt 1\n");
  EXPECT_EQ(run({"list", ".", ".git/**/*.py"}).out, ".git/objects/d.py 1\n");
}

TEST_F(FileTools, ListsHostileNamesOneToALine) {
  put("new\nline", "");
  put("esc\033[2J", "");
  put("\xff", "");
  put("-rf", "");
  EXPECT_EQ(run({"list", ".", "*"}).out, "-rf 0\nesc\\x1b[2J 0\nnew\\nline 0\n\xff 0\n");
}

TEST_F(FileTools, EndsAListThatIsTooLongAndSaysSo) {
  for (int file = 0; file < 5'003; ++file)
    put(std::to_string(file), "");
  const auto end = run({"list", ".", "*"});
  EXPECT_EQ(std::count(end.out.begin(), end.out.end(), '\n'), 5'001);
  EXPECT_THAT(end.out, HasSubstr("[3 more match; give a narrower pattern]"));
}

TEST_F(FileTools, ListsADeepTreeAsFarAsItGoes) {
  std::string path = directory_.path();
  ASSERT_EQ(::chdir(path.c_str()), 0);
  for (int depth = 0; depth < 600; ++depth) {
    ASSERT_EQ(::mkdir("deep-directory-deep-directory", 0755), 0);
    ASSERT_EQ(::chdir("deep-directory-deep-directory"), 0);
  }
  ASSERT_EQ(::chdir("/"), 0);
  const auto end = run({"list", ".", "**"});
  EXPECT_EQ(end.status, 0);
  EXPECT_THAT(end.out, HasSubstr("too deep"));
}

}  // namespace
}  // namespace ratchet::sandbox
