#include <gtest/gtest.h>

#include "runtime/event/fields.hpp"
#include "runtime/limits.hpp"
#include "runtime/tools/builtin.hpp"

namespace ratchet {
namespace {

TEST(Notes, AppendOnLinesOfTheirOwnAndReplace) {
  RunMemory memory;
  EXPECT_EQ(notes_read(memory, "{}").text, "There are no notes yet.");
  EXPECT_EQ(apply_notes_write(memory, R"({"text":"one"})").status, ToolStatus::ok);
  EXPECT_EQ(apply_notes_write(memory, R"({"text":"two\n","mode":"append"})").status, ToolStatus::ok);
  EXPECT_EQ(apply_notes_write(memory, R"({"text":"three"})").status, ToolStatus::ok);
  EXPECT_EQ(notes_read(memory, "{}"), (ToolAnswer{ToolStatus::ok, "one\ntwo\nthree"}));
  EXPECT_EQ(apply_notes_write(memory, R"({"text":"new","mode":"replace"})").text,
            "Written. The notes have 3 of at most 65536 bytes.");
  EXPECT_EQ(memory.notes, "new");
}

TEST(Notes, RefuseWhatDoesNotFitAndKeepWhatTheyHave) {
  RunMemory memory{.notes = "kept", .todos = {}};
  const std::string large(limits::notes_bytes_max - 4, 'x');  // "kept", a line break, and this: one too many
  const auto answer = apply_notes_write(memory, "{\"text\":\"" + large + "\"}");
  EXPECT_EQ(answer.status, ToolStatus::error);
  EXPECT_NE(answer.text.find("Nothing was written"), std::string::npos) << answer.text;
  EXPECT_EQ(memory.notes, "kept");
  EXPECT_EQ(apply_notes_write(memory, "{\"text\":\"" + large.substr(1) + "\"}").status, ToolStatus::ok);
  EXPECT_EQ(memory.notes.size(), limits::notes_bytes_max);
}

TEST(Notes, RefuseArgumentsThatNoSchemaSaw) {
  RunMemory memory;
  for (const std::string_view args : {"",
                                      "null",
                                      "[]",
                                      "{",
                                      "{}",
                                      R"({"text":1})",
                                      R"({"text":"a","mode":"prepend"})",
                                      R"({"text":"a","x":1})"}) {
    EXPECT_EQ(apply_notes_write(memory, args).status, ToolStatus::invalid) << args;
    EXPECT_EQ(memory, RunMemory{}) << args;
  }
  EXPECT_EQ(notes_read(memory, R"({"x":1})").status, ToolStatus::invalid);
}

TEST(Todos, ReplaceTheListAndCountIt) {
  RunMemory memory;
  const auto answer = apply_todo_write(
      memory,
      R"({"items":[{"text":"a","status":"done"},{"text":"b","status":"doing"},{"text":"c","status":"open"}]})");
  EXPECT_EQ(answer, (ToolAnswer{ToolStatus::ok, "The list has 3 items: 1 done, 1 doing, 1 open."}));
  EXPECT_EQ(
      memory.todos,
      (std::vector<TodoItem>{{"a", TodoStatus::done}, {"b", TodoStatus::doing}, {"c", TodoStatus::open}}));
  EXPECT_EQ(apply_todo_write(memory, R"({"items":[]})").status, ToolStatus::ok);
  EXPECT_TRUE(memory.todos.empty());
}

TEST(Todos, RefuseWhatIsNoList) {
  RunMemory memory{.notes = {}, .todos = {{"kept", TodoStatus::open}}};
  const RunMemory before = memory;
  std::string many = "{\"items\":[";
  for (std::size_t i = 0; i <= limits::todo_items_max; ++i)
    many += std::string(i ? "," : "") + R"({"text":"a","status":"open"})";
  for (const std::string& args : {std::string("{}"),
                                  std::string(R"({"items":{}})"),
                                  std::string(R"({"items":["a"]})"),
                                  std::string(R"({"items":[{"text":"a"}]})"),
                                  std::string(R"({"items":[{"text":"","status":"open"}]})"),
                                  std::string(R"({"items":[{"text":"a","status":"later"}]})"),
                                  many + "]}"}) {
    EXPECT_EQ(apply_todo_write(memory, args).status, ToolStatus::invalid) << args.substr(0, 80);
    EXPECT_EQ(memory, before);
  }
  EXPECT_EQ(apply_todo_write(memory, R"({"items":[{"text":"a","status":"later"}]})").text,
            "/items/0/status: status: expected one of open, doing, done; found 'later'");
}

TEST(Memory, SurvivesTheCodec) {
  const RunMemory memory{.notes = "n", .todos = {{"a", TodoStatus::done}, {"b", TodoStatus::open}}};
  std::string bytes;
  fields::write(memory, bytes);
  RunMemory read;
  ASSERT_EQ(fields::read(bytes, read), nullptr);
  EXPECT_EQ(read, memory);
}

const Timestamp now = *parse_timestamp("2026-11-30T12:00:00Z");

std::string until(std::string_view args) {
  const auto at = wait_until(args, now);
  return at ? to_string(*at) : "error: " + at.error().text;
}

TEST(Wait, TakesSecondsOrATime) {
  EXPECT_EQ(until(R"({"seconds":90})"), "2026-11-30T12:01:30.000000Z");
  EXPECT_EQ(until(R"({"seconds":0.5})"), "2026-11-30T12:00:00.500000Z");
  EXPECT_EQ(until(R"({"seconds":0})"), "2026-11-30T12:00:00.000000Z");
  EXPECT_EQ(until(R"({"seconds":2592010})"), "2026-12-30T12:00:10.000000Z") << "more than 2^31 ms";
  EXPECT_EQ(until(R"({"until":"2026-12-01T00:00:00+02:00"})"), "2026-11-30T22:00:00.000000Z");
  EXPECT_EQ(until(R"({"until":"2026-01-01T00:00:00Z"})"), "2026-01-01T00:00:00.000000Z") << "has passed";
}

TEST(Wait, RefusesTheRest) {
  EXPECT_EQ(until("{}"), "error: give either seconds or until");
  EXPECT_EQ(until(R"({"seconds":1,"until":"2026-12-01T00:00:00Z"})"), "error: give either seconds or until");
  EXPECT_EQ(until(R"({"seconds":-1})"), "error: seconds: expected a number from 0 to 31536000");
  EXPECT_EQ(until(R"({"seconds":31536001})"), "error: seconds: expected a number from 0 to 31536000");
  EXPECT_EQ(until(R"({"seconds":"90"})"), "error: seconds: expected a number from 0 to 31536000");
  EXPECT_EQ(until(R"({"until":"tomorrow"})"), "error: until: 'tomorrow' is not an RFC 3339 time");
  EXPECT_EQ(until(R"({"until":"9999-12-31T23:59:59Z"})"),
            "error: until: more than 31536000 seconds ahead of 2026-11-30T12:00:00.000000Z");
  EXPECT_TRUE(until("x").starts_with("error: line 1, column 1"));
}

}  // namespace
}  // namespace ratchet
