#pragma once
// What a running command writes, in pieces that can be shown while it runs. A preview: it is never journaled,
// and the result of the call takes its place.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ratchet {

/// A piece of what a call's command has written, to either of its outputs. Valid UTF-8.
struct ToolOutput {
  std::string call_id;
  std::uint32_t attempt = 0;
  std::uint64_t index = 0;  ///< the byte offset of `text` in all that was shown of this attempt
  std::string text;
};

/// Of one attempt, from its beginning. Not shared between threads.
class OutputPreview {
 public:
  OutputPreview(std::string call_id, std::uint32_t attempt)
      : call_id_(std::move(call_id)), attempt_(attempt) {}

  /// What can be shown of these bytes and those held back before: whole code points, with U+FFFD for what is
  /// not valid, limits::output_preview_bytes_max at most over all pieces. Nothing: no code point is whole
  /// yet, or enough was shown.
  std::optional<ToolOutput> feed(std::string_view bytes);

 private:
  std::string call_id_;
  std::uint32_t attempt_;
  std::string held_;  ///< the beginning of a code point
  std::uint64_t shown_ = 0;
  bool over_ = false;
};

}  // namespace ratchet
