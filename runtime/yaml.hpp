#pragma once
// YAML as a way to write JSON: agents, tools and the server's configuration. What YAML offers beyond that is
// refused rather than guessed at: aliases, anchors, tags, keys that are not text, several documents.
//
// Typing is JSON's own. Unquoted `true`, `false` and numbers as JSON writes them are those; `null`, `~` and
// nothing are null; all else is text, so `no`, `on`, `007`, `1_000`, `0x1F` and `2026-11-30` reach the reader
// as they were written.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"

namespace ratchet {

/// A place in a file, as editors count: both from 1, columns in bytes.
struct TextPosition {
  std::uint32_t line = 1, column = 1;

  bool operator==(const TextPosition&) const = default;
};

/// A document as JSON, and where each value of it stands in the file.
class YamlDocument {
 public:
  std::string json;  ///< compact, in the order of the file

  /// Where `pointer` (RFC 6901) stands: a member at its key, an item at its value. What does not exist is
  /// located at the nearest thing around it, so that a missing field points at the object that lacks it.
  TextPosition locate(std::string_view pointer) const;

  /// `error` with the line and the column of its pointer in front of its text: for a file of the user.
  Error at_line(Error error) const;

 private:
  friend class YamlReader;

  struct Place {
    std::uint32_t parent;
    std::string key;  ///< of an item its index
    TextPosition position;
  };

  std::vector<Place> places_;  ///< the root first, parents before their children
};

/// At most limits::yaml_bytes_max bytes of UTF-8, nested at most limits::json_depth_max deep. An empty
/// document is `null`. Errors: invalid_yaml, with line and column in the text; too_large.
Result<YamlDocument> parse_yaml(std::string_view yaml);

/// The JSON alone.
Result<std::string> yaml_to_json(std::string_view yaml);

}  // namespace ratchet
