#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/event/codec.hpp"
#include "runtime/event/fields.hpp"
#include "tests/runtime/event_samples.hpp"

namespace ratchet {
namespace {

namespace fs = std::filesystem;

const fs::path golden_dir = fs::path(RATCHET_SOURCE_DIR) / "tests/golden/events";

/// Lines of 32 bytes, as hex.
std::string to_hex(std::string_view bytes) {
  std::string hex;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    hex += fmt::format("{:02x}", static_cast<std::uint8_t>(bytes[i]));
    if (i % 32 == 31 || i + 1 == bytes.size()) hex += '\n';
  }
  return hex;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A way of knowing one byte string from another, for hostile input: no randomness in tests.
class Noise {
 public:
  std::uint32_t below(std::uint32_t bound) {
    state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
    return static_cast<std::uint32_t>(state_ >> 16) % bound;
  }

 private:
  std::uint64_t state_ = 0x9e3779b97f4a7c15;
};

TEST(EventCodec, GivesBackEveryTypeOfEvent) {
  const Record record = samples::record_of(samples::one_of_each());
  ASSERT_EQ(record.events.size(), std::variant_size_v<Payload>) << "a sample of each type";
  for (std::size_t i = 0; i < record.events.size(); ++i)
    EXPECT_EQ(record.events[i].payload.index(), i) << "samples are in the order of their numbers";
  const auto decoded = decode_record(encode(record));
  ASSERT_TRUE(decoded) << decoded.error().text;
  EXPECT_EQ(*decoded, record);
}

/// RATCHET_GOLDEN=write rewrites the files. The test fails all the same where a file changes: look at the
/// difference, and let no old journal become unreadable.
TEST(EventCodec, WritesTheBytesThatTheGoldenFilesPin) {
  const char* mode = std::getenv("RATCHET_GOLDEN");
  const bool rewrite = mode && std::string_view(mode) == "write";
  for (const Event& event : samples::one_of_each()) {
    const fs::path path = golden_dir / (std::string(type_name(event)) + ".hex");
    const std::string hex = to_hex(encode(samples::record_of({event})));
    EXPECT_EQ(read_file(path), hex) << path << (rewrite ? " was rewritten" : " differs");
    if (!rewrite) continue;
    fs::create_directories(golden_dir);
    std::ofstream(path, std::ios::binary) << hex;
  }
}

TEST(EventCodec, ReadsTheGoldenFilesForEver) {
  for (const Event& event : samples::one_of_each()) {
    const std::string hex = read_file(golden_dir / (std::string(type_name(event)) + ".hex"));
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
      if (hex[i] == '\n') ++i;
      bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    }
    const auto record = decode_record(bytes);
    ASSERT_TRUE(record) << type_name(event) << ": " << record.error().text;
    EXPECT_EQ(record->events, std::vector{event}) << type_name(event);
  }
}

TEST(EventCodec, WritesNothingForFieldsThatAreZeroOrEmpty) {
  EXPECT_EQ(encode_payload(RunCancelRequested{}), "");
  EXPECT_EQ(encode_payload(BudgetWarning{}), "");
}

TEST(EventCodec, ReadsAbsentFieldsAsZeroWhateverTheirDefaultIs) {
  std::string empty;
  ToolPlanned planned;
  planned.attempt = 7;
  ASSERT_EQ(fields::read(empty, planned), nullptr);
  EXPECT_EQ(planned.attempt, 0u) << "the meaning of a record does not depend on the code that reads it";
}

TEST(EventCodec, TellsAnEmptyOptionalFromAnAbsentOne) {
  RunFinished with_empty, without;
  with_empty.result = "";
  for (const RunFinished& finished : {with_empty, without}) {
    const Record record = samples::record_of({{1, {}, 0, 1, finished}});
    const auto decoded = decode_record(encode(record));
    ASSERT_TRUE(decoded);
    EXPECT_EQ(*decoded, record);
  }
}

TEST(EventCodec, SkipsFieldsOfALaterVersion) {
  std::string payload = encode_payload(RunCancelRequested{"carol", "enough"});
  fields::put_varint(payload, 900 << 2);  // a number
  fields::put_varint(payload, 5);
  fields::put_varint(payload, 901 << 2 | 1);  // bytes
  fields::put_varint(payload, 3);
  payload += "new";
  RunCancelRequested read;
  ASSERT_EQ(fields::read(payload, read), nullptr);
  EXPECT_EQ(read, (RunCancelRequested{"carol", "enough"}));
}

TEST(EventCodec, RefusesAnEventTypeThatItDoesNotKnow) {
  std::string bytes = encode(samples::record_of({{1, {}, 0, 1, RunCancelRequested{}}}));
  bytes[50] = 99;  // after the format, the head, the salt and the count
  const auto decoded = decode_record(bytes);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, ErrorCode::corrupt);
}

TEST(EventCodec, RefusesAnEnumeratorThatItDoesNotKnow) {
  std::string payload;
  fields::put_varint(payload, 1 << 2);
  fields::put_varint(payload, 200);
  BudgetWarning warning;
  EXPECT_NE(fields::read(payload, warning), nullptr);
}

TEST(EventCodec, RefusesAFieldOfAnotherKindAndNumbersThatDoNotFit) {
  std::string kind;
  fields::put_varint(kind, 1 << 2);  // run.cancel_requested.by is bytes
  fields::put_varint(kind, 1);
  RunCancelRequested cancel;
  EXPECT_NE(fields::read(kind, cancel), nullptr);

  std::string wide;
  fields::put_varint(wide, 4 << 2);  // tool.planned.attempt has 32 bits
  fields::put_varint(wide, 1ull << 40);
  ToolPlanned planned;
  EXPECT_NE(fields::read(wide, planned), nullptr);
}

TEST(EventCodec, RefusesAHashOfAnotherLength) {
  std::string bytes;
  fields::put_varint(bytes, 2 << 2 | 1);  // tool.planned.args_hash
  fields::put_varint(bytes, 31);
  bytes.append(31, 'x');
  ToolPlanned planned;
  EXPECT_NE(fields::read(bytes, planned), nullptr);
}

TEST(EventCodec, RefusesEveryTruncation) {
  const std::string bytes = encode(samples::record_of(samples::one_of_each()));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto decoded = decode_record(std::string_view(bytes).substr(0, size));
    ASSERT_FALSE(decoded) << "cut to " << size << " of " << bytes.size() << " bytes";
    ASSERT_EQ(decoded.error().code, ErrorCode::corrupt);
  }
  EXPECT_FALSE(decode_record(bytes + '\0')) << "bytes follow the last event";
}

TEST(EventCodec, SurvivesDamagedBytes) {
  const std::string bytes = encode(samples::record_of(samples::one_of_each()));
  Noise noise;
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = bytes;
    for (std::uint32_t hits = 1 + noise.below(4); hits > 0; --hits)
      damaged[noise.below(static_cast<std::uint32_t>(bytes.size()))] = static_cast<char>(noise.below(256));
    const auto decoded = decode_record(damaged);
    if (decoded) encode(*decoded);
    const auto head = chain_head(std::string_view(damaged));
    EXPECT_TRUE(head || head.error().code == ErrorCode::corrupt);
  }
}

TEST(EventCodec, DoesNotTrustTheNumberOfEvents) {
  std::string bytes = encode(samples::record_of({}));
  bytes.pop_back();
  fields::put_varint(bytes, 1ull << 62);
  EXPECT_FALSE(decode_record(bytes));
  // Nor one that is possible by the bytes alone: nothing may be allocated for it.
  std::string large = encode(samples::record_of({}));
  large.pop_back();
  fields::put_varint(large, 40'000'000);
  large.append(40'000'000, '\0');
  EXPECT_FALSE(decode_record(large));
}

TEST(EventChain, ContinuesFromTheHeadBefore) {
  const std::vector<Event> events = samples::one_of_each();
  Record whole = samples::record_of(events);
  Record first = samples::record_of({events.begin(), events.begin() + 7});
  Record second = samples::record_of({events.begin() + 7, events.end()});
  second.head_before = chain_head(first);
  EXPECT_EQ(chain_head(second), chain_head(whole)) << "how events are cut into records does not matter";
}

TEST(EventChain, ChangesWithEveryBitOfARecord) {
  const std::string bytes = encode(samples::record_of({samples::one_of_each()[9]}));
  const Hash head = *chain_head(std::string_view(bytes));
  for (std::size_t at = 1; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    const auto other = chain_head(std::string_view(changed));
    EXPECT_FALSE(other && *other == head) << "byte " << at;
  }
}

TEST(EventChain, CommitsToHashesOfContent) {
  // h(n) = SHA-256(h(n-1) ‖ envelope ‖ SHA-256(salt ‖ payload)): without the content, its hash is enough.
  const Event event{1, Timestamp{-2}, 3, 4, RunCancelRequested{"carol", "enough"}};
  const Record record = samples::record_of({event});
  const std::string salt(reinterpret_cast<const char*>(record.salt.data()), record.salt.size());
  const std::string payload(
      "\x05\x05"
      "carol"
      "\x09\x06"
      "enough");
  EXPECT_EQ(encode_payload(event.payload), payload);
  const std::string envelope("\x0e\x01\x03\x03\x04");
  const std::string link =
      std::string(record.head_before.view()) + envelope + std::string(sha256(salt + payload).view());
  EXPECT_EQ(to_string(chain_head(record)), to_string(sha256(link)));
}

}  // namespace
}  // namespace ratchet
