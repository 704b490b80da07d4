#pragma once
// Lines of an artifact, read piece by piece.

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/result.hpp"
#include "runtime/tools/builtin.hpp"

namespace ratchet {

/// A line, or a piece of one that is longer than limits::search_line_bytes_max.
struct Line {
  std::uint64_t number = 0;  ///< from 1
  std::uint64_t offset = 0;  ///< of `text` in the artifact
  std::string_view text;     ///< without its end, LF or CR LF; valid until the next call
  bool is_first_piece = true;
};

/// The largest length of at most `bytes_max` at which `bytes`, which may be no UTF-8 at all, are cut without
/// need of cutting a code point.
std::size_t cut_bytes(std::string_view bytes, std::size_t bytes_max);

class LineReader {
 public:
  /// Pieces of a line overlap by this much, so that a match of at most this length lies whole in one of them.
  static constexpr std::size_t overlap_bytes = 4'096;

  explicit LineReader(const ArtifactSource& source) : source_(source) {}

  /// False at the end. Errors: those of the source.
  Result<bool> next(Line& line);

  /// How much has been read from the source. Grows by a chunk at a time.
  std::uint64_t bytes_read() const { return buffer_offset_ + buffer_.size(); }

 private:
  Result<void> refill();

  const ArtifactSource& source_;
  std::string buffer_;
  std::uint64_t buffer_offset_ = 0;  ///< of the buffer in the artifact
  std::size_t at_ = 0;               ///< where the next line or piece begins
  std::uint64_t number_ = 1;
  bool is_first_piece_ = true;
};

}  // namespace ratchet
