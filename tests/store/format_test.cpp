// The forms in which things are stored, one by one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/crc32c.hpp"
#include "store/layout.hpp"
#include "store/pack.hpp"
#include "tests/store/story.hpp"

namespace ratchet {

namespace {

using stories::run_id;

TEST(Crc32c, HasTheValuesOfRfc3720) {
  EXPECT_EQ(crc32c(0, std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(0, std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(0, "123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(crc32c(0, "1234"), "56789"), 0xe3069283u);
}

TEST(Crc32c, IsTheSameByInstructionAndByTable) {
  const std::string bytes = stories::text(1, 1000);
  for (std::size_t length = 0; length < bytes.size(); length += 7)
    EXPECT_EQ(crc32c(5, std::string_view(bytes).substr(length % 9, length)),
              crc32c_by_table(5, std::string_view(bytes).substr(length % 9, length)));
}

TEST(Pack, ReturnsWhatWasPacked) {
  for (const std::size_t bytes : {0ul, 1ul, 100ul, 5'000ul, 3'000'000ul}) {
    const std::string record = stories::text(3, bytes);
    const std::string packed = pack_record(record);
    EXPECT_LE(packed.size(), record.size() + 1);
    EXPECT_EQ(*unpacked_size(packed), bytes);
    EXPECT_EQ(*unpack_record(packed), record);
  }
  EXPECT_LT(pack_record(stories::text(3, 5'000)).size(), 3'000u);
}

TEST(Pack, LeavesAloneWhatDoesNotGetSmaller) {
  std::string noise;
  for (int i = 0; i < 100; ++i)
    noise += sha256(std::to_string(i)).view();
  const std::string packed = pack_record(noise);
  EXPECT_EQ(packed[0], 0);
  EXPECT_EQ(packed.substr(1), noise);
}

TEST(Pack, RefusesWhatWasNotPacked) {
  const std::string packed = pack_record(stories::text(3, 5'000));
  ASSERT_EQ(packed[0], 1);
  EXPECT_EQ(unpack_record("").error().code, ErrorCode::corrupt);
  EXPECT_EQ(unpack_record("\x02xyz").error().code, ErrorCode::corrupt);
  for (std::size_t length = 1; length < packed.size(); length += 3)
    EXPECT_EQ(unpack_record(packed.substr(0, length)).error().code, ErrorCode::corrupt) << length;
}

TEST(Pack, DoesNotAllocateWhatAFrameClaims) {
  // A zstd frame whose head claims 2^40 bytes.
  std::string bomb("\x01\x28\xb5\x2f\xfd\xe0", 6);
  bomb += std::string("\0\0\0\0\0\1\0\0", 8);
  bomb += std::string("\1\0\0", 3);
  const auto refused = unpack_record(bomb);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, testing::HasSubstr("claims 1099511627776"));
}

TEST(Layout, OrdersTimesBeforeAndAfter1970) {
  std::string before;
  for (const std::int64_t us : {INT64_MIN, -5l, -1l, 0l, 1l, 1'700'000'000'000'000l, INT64_MAX}) {
    const std::string key{std::string_view(layout::due_key({us}, run_id(7)))};
    EXPECT_LT(before, key);
    EXPECT_EQ(layout::read_time_and_run(key)->at.us, us);
    EXPECT_EQ(layout::read_time_and_run(key)->run, run_id(7));
    before = key;
  }
}

TEST(Layout, KeepsARunsHeadAndItsAppends) {
  layout::StoredRun run{
      .lease = 300, .last_seq = 1000, .active = true, .due_at = Timestamp{-3}, .latest = {}, .row = {}};
  std::uint64_t first_seq = 900;
  for (std::uint32_t i = 0; i < layout::AppendList::size_max; ++i) {
    run.latest.push({.append = 5'000'000'000u + i * 1000u, .first_seq = first_seq, .events = i % 4 + 1});
    first_seq += i % 4 + 1;
  }
  std::string bytes;
  layout::write_run_head(run, bytes);
  EXPECT_LT(bytes.size(), 120u) << "it is rewritten with every append";
  const std::string with_row = bytes + "the row";
  const auto read = layout::read_run(with_row);
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->lease, 300u);
  EXPECT_EQ(read->last_seq, 1000u);
  EXPECT_TRUE(read->active);
  EXPECT_EQ(read->due_at, Timestamp{-3});
  EXPECT_EQ(read->row, "the row");
  ASSERT_EQ(read->latest.refs().size(), run.latest.refs().size());
  for (std::size_t i = 0; i < run.latest.refs().size(); ++i) {
    EXPECT_EQ(read->latest.refs()[i].append, run.latest.refs()[i].append);
    EXPECT_EQ(read->latest.refs()[i].first_seq, run.latest.refs()[i].first_seq);
    EXPECT_EQ(read->latest.refs()[i].events, run.latest.refs()[i].events);
  }
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(layout::read_run(bytes.substr(0, length))) << "cut off at " << length;
}

/// Stores of every version are read for ever: these bytes may never change.
TEST(Layout, IsPinned) {
  const auto hex = [](std::string_view bytes) {
    std::string out;
    for (const char byte : bytes)
      out += "0123456789abcdef"[static_cast<std::uint8_t>(byte) >> 4], out += "0123456789abcdef"[byte & 15];
    return out;
  };
  const std::string run7 = "01000000000000000000000000000007";
  EXPECT_EQ(hex(layout::event_key(258)), "0000000000000102");
  EXPECT_EQ(hex(layout::run_key(run_id(7))), run7);
  EXPECT_EQ(hex(layout::chunk_key(run_id(7), 33)), run7 + "0000000000000021");
  EXPECT_EQ(hex(layout::active_key({1}, run_id(7))), "8000000000000001" + run7);
  EXPECT_EQ(hex(layout::due_key({-1}, run_id(7))), "7fffffffffffffff" + run7);
  EXPECT_EQ(hex(layout::listed_key(layout::team_prefix("ab"), {1}, run_id(7))),
            "616200"
            "8000000000000001" +
                run7);
  EXPECT_EQ(hex(layout::claim_key("ab", "k")), "6162006b");
  EXPECT_EQ(hex(layout::blob_key(run_id(7), 3)), run7 + "00000003");
  EXPECT_EQ(hex(layout::definition_key("tool", "x")), "746f6f6c0078");
  EXPECT_EQ(hex(layout::approval_key(run_id(7), stories::approval_id(9))),
            run7 + "01000000000000000000000000000009");
  ApprovalRow approval = stories::Story(7, "ab").approval_row(9, ApprovalStatus::expired);
  EXPECT_EQ(hex(layout::listed_approval_key(approval)),
            "616200"
            "02"
            "01000000000000000000000000000009" +
                run7);
  OutboxEntry entry;
  entry.due_at = {1};
  entry.run_id = run_id(7);
  entry.seq = 258;
  entry.n = 3;
  EXPECT_EQ(hex(layout::outbox_key(entry)),
            "8000000000000001" + run7 +
                "0000000000000102"
                "00000003");
  Hash snapshot;
  snapshot.bytes.fill(0xab);
  EXPECT_EQ(hex(layout::snapshot_key(run_id(7), snapshot)), run7 + hex(snapshot.view()));
  EXPECT_EQ(hex(layout::events_head(run_id(7), 300, 2)), run7 + "ac0202");
  layout::StoredRun run{
      .lease = 2, .last_seq = 5, .active = true, .due_at = Timestamp{1}, .latest = {}, .row = {}};
  run.latest.push({.append = 300, .first_seq = 1, .events = 3});
  run.latest.push({.append = 301, .first_seq = 4, .events = 2});
  std::string bytes;
  layout::write_run_head(run, bytes);
  EXPECT_EQ(hex(bytes),
            "01"
            "02"
            "05"
            "03"
            "02"
            "02"
            "01"
            "ac02"
            "03"
            "01"
            "02");
  EXPECT_EQ(hex(layout::write_claim({run_id(7), sha256("")})), run7 + to_string(sha256("")));
  EXPECT_EQ(hex(layout::write_blob_file(300, {1, 300})),
            "01"
            "ac02"
            "01"
            "ac02");
}

}  // namespace

}  // namespace ratchet
