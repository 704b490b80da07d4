#pragma once
// The tools that ratchet brings along, as pure functions: arguments and what they need in, an answer out.
// Their manifests (`builtin_manifests`, manifest.hpp) are like those of any other tool.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/enums.hpp"
#include "runtime/result.hpp"
#include "runtime/time.hpp"
#include "runtime/tools/types.hpp"

namespace ratchet {

struct ToolAnswer {
  ToolStatus status = ToolStatus::ok;
  std::string text;  ///< valid UTF-8, for the model

  bool operator==(const ToolAnswer&) const = default;
};

// --- artifacts: large results and inputs that a model pages through

/// An artifact to read from. `read` returns `limit` bytes from `offset`, fewer only at the end.
struct ArtifactSource {
  std::uint64_t bytes = 0;
  std::function<Result<std::string>(std::uint64_t offset, std::size_t limit)> read;
};

/// A source over bytes in memory, which must outlive it.
ArtifactSource memory_source(std::string_view bytes);

struct ArtifactBounds {
  /// Of the text: what the run shows of one result, so that the answer is not put away as an artifact itself.
  /// Less than limits::artifact_answer_bytes_min counts as that.
  std::size_t answer_bytes_max;
  /// Asked every limits::search_line_bytes_max; true ends the work with what was found (`timeout`). May be
  /// empty.
  std::function<bool()> stop;
};

/// Reads part of the artifact, cut between code points, with a first line that says which part and how to go
/// on. Bytes that are not UTF-8 are shown as U+FFFD.
ToolAnswer artifact_read(const ArtifactSource& source,
                         std::string_view args_json,
                         const ArtifactBounds& bounds);

/// Searches line by line, as `grep -nb` does. Matches carry line number and byte offset, so that
/// artifact_read can follow; of a long line only what is around a match is shown. Holds a few hundred KiB,
/// whatever the size of the artifact.
ToolAnswer artifact_search(const ArtifactSource& source,
                           std::string_view args_json,
                           const ArtifactBounds& bounds);

/// The artifact that the arguments of either name. Errors: invalid_request, worded for the model.
Result<std::string> artifact_of(std::string_view args_json);

// --- the run's own memory

RATCHET_ENUM(TodoStatus, open, doing, done)

struct TodoItem {
  std::string text;
  TodoStatus status = TodoStatus::open;

  bool operator==(const TodoItem&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "text", self.text);
    visit(2, "status", self.status);
  }
};

/// What a run keeps beside its context: part of its state, a fold over its calls.
struct RunMemory {
  std::string notes;
  std::vector<TodoItem> todos;

  bool operator==(const RunMemory&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "notes", self.notes);
    visit(2, "todos", self.todos);
  }
};

/// Each changes `memory` only where it answers `ok`.
ToolAnswer apply_notes_write(RunMemory& memory, std::string_view args_json);
ToolAnswer notes_read(const RunMemory& memory, std::string_view args_json);
ToolAnswer apply_todo_write(RunMemory& memory, std::string_view args_json);

// --- wait

/// When a `wait` is over: `{seconds}` from now, or `{until}`, which may have passed. At most
/// limits::wait_seconds_max ahead. Errors: invalid_request, worded for the model.
Result<Timestamp> wait_until(std::string_view args_json, Timestamp now);
/// What the model is told then.
ToolAnswer wait_answer(Timestamp until);

}  // namespace ratchet
