// The node's key, and tokens at rest under it.

#include "store/node_key.hpp"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/lmdb_journal.hpp"
#include "tests/fakes/directory.hpp"
#include "tests/store/story.hpp"

namespace ratchet {

namespace {

namespace fs = std::filesystem;

using stories::run_id;
using stories::Story;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::string_view token = "eyJ-the-token-of-a-user";

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class Key : public testing::Test {
 protected:
  Key() { options_.data_dir = directory_.path() + "/data"; }

  std::unique_ptr<LmdbJournal> open() {
    told_.clear();
    options_.on_damage = [this](const Error& damage) { told_.push_back(damage.text); };
    auto journal = LmdbJournal::open(options_);
    RATCHET_ENSURE(journal.has_value(), journal.error().text);
    return std::move(*journal);
  }

  static Result<Committed> commit(Journal& journal, const Commit& commit) {
    return journal.commit({&commit, 1})->at(0);
  }

  std::string key_file() const { return options_.data_dir + "/node.key"; }

  TemporaryDirectory directory_;
  StoreOptions options_;
  std::vector<std::string> told_;
};

TEST_F(Key, IsMadeAtTheFirstStartForItsOwnerOnlyAndKept) {
  Story story(1);
  commit(*open(), story.commit_with_token(std::string(token)));
  struct stat status{};
  ASSERT_EQ(stat(key_file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
  const std::string key = read_file(key_file());
  EXPECT_EQ(key.size(), 32u);
  EXPECT_EQ(*open()->user_token(story.id()), token);
  EXPECT_EQ(read_file(key_file()), key);
  EXPECT_THAT(told_, IsEmpty());

  TemporaryDirectory other;
  ASSERT_TRUE(NodeKey::read_or_make(other.path() + "/node.key"));
  EXPECT_NE(read_file(other.path() + "/node.key"), key);
}

TEST_F(Key, IsTakenFromAFileThatIsGivenAndNoneIsMade) {
  options_.node_key_file = directory_.path() + "/credential";
  write_file(options_.node_key_file, std::string(32, 'k'));
  Story story(1);
  commit(*open(), story.commit_with_token(std::string(token)));
  EXPECT_FALSE(fs::exists(key_file()));
  EXPECT_EQ(*open()->user_token(story.id()), token);
  fs::remove(options_.node_key_file);
  const auto journal = open();
  EXPECT_EQ(journal->user_token(story.id()).error().code, ErrorCode::corrupt);
  EXPECT_FALSE(fs::exists(options_.node_key_file)) << "what others were to provide is not made up";
  EXPECT_THAT(told_, ElementsAre(HasSubstr("credential cannot be opened")));
}

TEST_F(Key, ThatIsDamagedRefusesTokensAndNothingElse) {
  Story story(1), other(2), third(3);
  commit(*open(), story.commit_with_token(std::string(token)));
  const std::string key = read_file(key_file());
  for (const std::string& bytes : {std::string(), key.substr(1), key + "\n", std::string(32, '\0')}) {
    write_file(key_file(), bytes);
    const auto journal = open();
    EXPECT_THAT(told_, ElementsAre(HasSubstr(key_file())));
    EXPECT_EQ(journal->user_token(story.id()).error().code, ErrorCode::corrupt);
    const auto refused = commit(*journal, Story(other).commit_with_token(std::string(token)));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::corrupt);
    EXPECT_THAT(refused.error().text, Not(HasSubstr(std::string(token))));
    EXPECT_EQ(journal->row(other.id()).error().code, ErrorCode::unknown_run) << "nothing of it is written";
    EXPECT_TRUE(commit(*journal, third.commit()));
    EXPECT_EQ(read_file(key_file()), bytes) << "it is left to be mended";
  }
  Story ending = third;
  ending.row().status = RunStatus::finished;
  const auto journal = open();
  EXPECT_TRUE(commit(*journal, ending.commit_with_token(std::string(token)))) << "it is not to be sealed";
  story.row().status = RunStatus::finished;
  EXPECT_TRUE(commit(*journal, story.commit()));
  EXPECT_EQ(journal->user_token(story.id()).error().code, ErrorCode::not_found);
}

TEST_F(Key, OfAnotherNodeOpensNoTokenAndSealsNewOnes) {
  Story story(1), other(2);
  commit(*open(), story.commit_with_token(std::string(token)));
  fs::remove(key_file());
  const auto journal = open();
  EXPECT_THAT(told_, ElementsAre(HasSubstr("another node key")));
  EXPECT_THAT(told_.front(), HasSubstr(to_string(story.id())));
  EXPECT_EQ(journal->user_token(story.id()).error().code, ErrorCode::corrupt);
  EXPECT_TRUE(commit(*journal, other.commit_with_token("others")));
  EXPECT_EQ(*journal->user_token(other.id()), "others");
  EXPECT_TRUE(commit(*journal, story.commit_with_token("fresh")));
  EXPECT_EQ(*journal->user_token(story.id()), "fresh");
}

TEST_F(Key, IsNotHalfThereAfterAProcessThatDiedMakingIt) {
  fs::create_directory(options_.data_dir);
  write_file(key_file() + ".fresh", "half a key");
  open();
  EXPECT_EQ(read_file(key_file()).size(), 32u);
  EXPECT_FALSE(fs::exists(key_file() + ".fresh"));
}

TEST_F(Key, IsNotReadByJournalsThatAreOpenedForReading) {
  Story story(1);
  commit(*open(), story.commit_with_token(std::string(token)));
  const auto reader = open_store_for_reading(options_.data_dir);
  EXPECT_EQ((*reader)->user_token(story.id()).error().code, ErrorCode::store_unavailable);
  EXPECT_EQ((*reader)->user_token(run_id(9)).error().code, ErrorCode::not_found);
}

TEST_F(Key, KeepsTokensUnreadableInEveryFile) {
  Story story(1), big(2);
  {
    const auto journal = open();
    commit(*journal, story.commit_with_token(std::string(token)));
    commit(*journal, big.commit_with_token(std::string(token) + stories::text(1, 20'000)));
  }
  std::size_t files = 0;
  for (const auto& file : fs::recursive_directory_iterator(options_.data_dir)) {
    EXPECT_THAT(read_file(file.path()), Not(HasSubstr(std::string(token)))) << file.path();
    ++files;
  }
  EXPECT_GE(files, 3u);
}

TEST_F(Key, SealsEachTimeAnotherWay) {
  const auto key = NodeKey::read_or_make(directory_.path() + "/key");
  EXPECT_NE(key->seal(run_id(1), token), key->seal(run_id(1), token));
}

TEST_F(Key, OpensATokenOnlyForItsRunAndUnchanged) {
  const auto key = NodeKey::read_or_make(directory_.path() + "/key");
  const std::string sealed = key->seal(run_id(1), token);
  EXPECT_EQ(*key->unseal(run_id(1), sealed), token);
  EXPECT_EQ(key->unseal(run_id(2), sealed).error().code, ErrorCode::corrupt);
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] ^= 1;
    EXPECT_EQ(key->unseal(run_id(1), changed).error().code, ErrorCode::corrupt) << i;
    EXPECT_EQ(key->unseal(run_id(1), sealed.substr(0, i)).error().code, ErrorCode::corrupt) << i;
  }
  EXPECT_EQ(key->unseal(run_id(1), sealed + "x").error().code, ErrorCode::corrupt);
}

/// Stores of every version are read for ever: these bytes may never change what they open to.
TEST_F(Key, OpensWhatWasSealedByTheFirstVersion) {
  std::string key;
  for (char i = 1; i <= 32; ++i)
    key += i;
  write_file(directory_.path() + "/key", key);
  std::string sealed;
  const std::string_view hex =
      "01"
      "404142434445464748494a4b4c4d4e4f5051525354555657"
      "6e2d409cbc93ee"
      "02c9e0757d8543c917989e673f25641e";
  for (std::size_t i = 0; i < hex.size(); i += 2)
    sealed += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  const auto read = NodeKey::read(directory_.path() + "/key");
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(*read->unseal(run_id(7), sealed), "a token");
}

}  // namespace

}  // namespace ratchet
