// The built-in tools that work on the run's own state: notes, todos, and waiting.

#include <cmath>

#include <fmt/format.h>

#include "runtime/limits.hpp"
#include "runtime/tools/builtin.hpp"
#include "runtime/tools/builtin_args.hpp"

namespace ratchet {

namespace {

RATCHET_ENUM(NotesMode, append, replace)

constexpr FieldRule notes_fields[] = {{"text"}, {"mode"}};
constexpr FieldRule todo_fields[] = {{"items"}};
constexpr FieldRule item_fields[] = {{"text"}, {"status"}};
constexpr FieldRule wait_fields[] = {{"seconds"}, {"until"}};

}  // namespace

ToolAnswer apply_notes_write(RunMemory& memory, std::string_view args_json) {
  std::string text;
  NotesMode mode{};
  const auto error = read_args(args_json, notes_fields, [&](ObjectReader& args) {
    text = args.text("text", 0, limits::reply_bytes_max);
    mode = args.choice<NotesMode>("mode", NotesMode::append);
  });
  if (error) return invalid_args(*error);
  std::string notes = mode == NotesMode::append ? memory.notes : "";
  if (!notes.empty() && !notes.ends_with('\n') && !text.empty()) notes += '\n';
  notes += text;
  if (notes.size() > limits::notes_bytes_max)
    return {ToolStatus::error,
            fmt::format(
                "The notes would have {} bytes; at most {} fit, and they have {} now. Nothing was written. "
                "Write a shorter version with mode \"replace\".",
                notes.size(),
                limits::notes_bytes_max,
                memory.notes.size())};
  memory.notes = std::move(notes);
  return {
      ToolStatus::ok,
      fmt::format(
          "Written. The notes have {} of at most {} bytes.", memory.notes.size(), limits::notes_bytes_max)};
}

ToolAnswer notes_read(const RunMemory& memory, std::string_view args_json) {
  if (const auto error = read_args(args_json, {}, [](ObjectReader&) {})) return invalid_args(*error);
  return {ToolStatus::ok, memory.notes.empty() ? "There are no notes yet." : memory.notes};
}

ToolAnswer apply_todo_write(RunMemory& memory, std::string_view args_json) {
  std::vector<TodoItem> todos;
  std::size_t done = 0, doing = 0;
  const auto error = read_args(args_json, todo_fields, [&](ObjectReader& args) {
    for (const auto* value : args.array("items", limits::todo_items_max, true)) {
      ObjectReader item = args.item(*value, "items", todos.size(), item_fields);
      todos.push_back({item.text("text", 1, limits::todo_bytes_max), item.choice<TodoStatus>("status")});
      done += todos.back().status == TodoStatus::done;
      doing += todos.back().status == TodoStatus::doing;
    }
  });
  if (error) return invalid_args(*error);
  memory.todos = std::move(todos);
  return {ToolStatus::ok,
          fmt::format("The list has {} items: {} done, {} doing, {} open.",
                      memory.todos.size(),
                      done,
                      doing,
                      memory.todos.size() - done - doing)};
}

Result<Timestamp> wait_until(std::string_view args_json, Timestamp now) {
  const auto args = parse_json(args_json);
  if (!args) return fail(ErrorCode::invalid_request, args.error().text);
  std::optional<Error> error;
  ObjectReader reader(*args, "", wait_fields, error);
  reader.number_text("seconds", 0, static_cast<double>(limits::wait_seconds_max));
  const std::string until = reader.text("until", 0, 64, "");
  if (error) return fail(ErrorCode::invalid_request, error->text, error->pointer);
  if (reader.has("seconds") == reader.has("until"))
    return fail(ErrorCode::invalid_request, "give either seconds or until");
  if (const auto* seconds = reader.find("seconds"))
    return Timestamp{now.us + std::llround(seconds->to_number<double>() * 1e6)};
  const auto at = parse_timestamp(until);
  if (!at) return fail(ErrorCode::invalid_request, "until: " + at.error().text, "/until");
  if (at->us - now.us > limits::wait_seconds_max * 1'000'000)
    return fail(
        ErrorCode::invalid_request,
        fmt::format("until: more than {} seconds ahead of {}", limits::wait_seconds_max, to_string(now)),
        "/until");
  return *at;
}

ToolAnswer wait_answer(Timestamp until) {
  return {ToolStatus::ok, fmt::format("Waited until {}.", to_string(until))};
}

}  // namespace ratchet
