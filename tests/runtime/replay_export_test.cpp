// A run as a file: whole, proven, and without what must not leave.

#include <gmock/gmock.h>

#include "runtime/audit/auditor.hpp"
#include "runtime/replay/export.hpp"
#include "tests/runtime/run_story.hpp"

namespace ratchet::stories {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A finished run with a thought, a call, and a result that is kept as an artifact.
Export sample() {
  RunStory story;
  story.begin();
  ReplyBlock thought = said(R"({"type":"thinking","signature":"SECRET-THOUGHT"})");
  thought.type = ReplyBlockType::reasoning;
  story.replies({thought, call_of("read", R"({"n":1})")});
  story.ends("call_1_1", std::string(20'000, 'r'));
  story.replies({said("Done.")});
  Export file;
  file.run_id = story.state().run_id;
  file.definition.text =
      R"({"agent_id":"worker","model":{"name":"sonnet"},"tools":["notes_read"],"system_prompt":"You work."})";
  file.manifests = {find_builtin("notes_read")->source.text};
  file.agent_version = 1;
  Record one, two;
  one.salt[0] = 1;
  one.events = {story.events().begin(), story.events().begin() + 3};
  two.salt[0] = 2;
  two.head_before = chain_head(one);
  two.events = {story.events().begin() + 3, story.events().end()};
  for (const Record& record : {one, two}) {
    for (const ArtifactRef& ref : artifacts_of(file, record))
      for (const Blob& blob : story.blobs())
        if (blob.ref.id == ref.id) file.artifacts.push_back({ref, blob.bytes});
    add_record(file, record);
  }
  EXPECT_EQ(file.head, chain_head(two)) << "it follows the chain of the journal";
  return file;
}

ErrorCode refusal(const std::string& bytes) {
  const auto file = read_export(bytes);
  return file ? ErrorCode::internal_error : file.error().code;
}

TEST(Export, ComesBackWhole) {
  const Export file = sample();
  const auto read = read_export(write_export(file));
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->run_id, file.run_id);
  EXPECT_EQ(read->artifacts.size(), 1u);
  const auto records = records_of(*read);
  ASSERT_TRUE(records);
  EXPECT_EQ(records->size(), 2u);
  const auto version = version_of(*read);
  ASSERT_TRUE(version) << version.error().text;
  EXPECT_EQ((*version)->tools.front().name, "notes_read");
  Auditor auditor;
  for (const Record& record : *records)
    auditor.add(file.run_id, record);
  EXPECT_EQ(auditor.findings(), std::vector<Violation>{}) << "its new chain holds";
}

TEST(Export, HasNothingThatOnlyTheProviderCanRead) {
  EXPECT_THAT(write_export(sample()), Not(HasSubstr("SECRET-THOUGHT")));
}

TEST(Export, EveryChangedByteIsFound) {
  const std::string bytes = write_export(sample());
  for (std::size_t at = 0; at < bytes.size(); at += 97) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_EQ(refusal(changed), ErrorCode::import_refused) << "byte " << at;
  }
  EXPECT_EQ(refusal(bytes.substr(0, bytes.size() - 1)), ErrorCode::import_refused);
  EXPECT_EQ(refusal(""), ErrorCode::import_refused);
}

TEST(Export, WhoMendsTheChecksumStillMeetsTheChain) {
  const auto forged = [](auto change) {
    Export file = sample();
    change(file);
    return refusal(write_export(file));
  };
  EXPECT_EQ(forged([](Export& f) { f.records[0].events[1].at.us += 1; }), ErrorCode::import_refused);
  EXPECT_EQ(forged([](Export& f) { f.records[0].events[0].payload += '\0'; }), ErrorCode::import_refused);
  EXPECT_EQ(forged([](Export& f) { f.records[0].events[0].shortened = true; }), ErrorCode::import_refused);
  EXPECT_EQ(forged([](Export& f) { f.records[0].salt[3] = 'x'; }), ErrorCode::import_refused);
  EXPECT_EQ(forged([](Export& f) { f.records.pop_back(); }), ErrorCode::import_refused);
  EXPECT_EQ(forged([](Export& f) { f.artifacts.clear(); }), ErrorCode::import_refused);
  EXPECT_EQ(forged([](Export& f) { f.artifacts[0].bytes[0] = 'x'; }), ErrorCode::import_refused);
}

}  // namespace
}  // namespace ratchet::stories
