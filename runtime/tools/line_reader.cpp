#include "runtime/tools/line_reader.hpp"

#include <algorithm>

#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

/// What is smaller than a file of its own is unpacked at every read, so it is read at once.
constexpr std::size_t chunk_bytes = limits::blob_file_bytes_min;

}  // namespace

std::size_t cut_bytes(std::string_view bytes, std::size_t bytes_max) {
  if (bytes.size() <= bytes_max) return bytes.size();
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, bytes_max); ++back)
    if (utf8_length(bytes.substr(bytes_max - back)) > back) return bytes_max - back;
  return bytes_max;
}

Result<void> LineReader::refill() {
  auto chunk = source_.read(bytes_read(), chunk_bytes);
  if (!chunk) return tl::unexpected(chunk.error());
  if (chunk->empty()) return fail(ErrorCode::corrupt, "it ends before its length");
  buffer_.erase(0, at_);
  buffer_offset_ += at_;
  at_ = 0;
  buffer_ += *chunk;
  return {};
}

Result<bool> LineReader::next(Line& line) {
  std::size_t end = buffer_.find('\n', at_);
  while (end == std::string::npos && buffer_.size() - at_ <= limits::search_line_bytes_max &&
         bytes_read() < source_.bytes) {
    if (auto refilled = refill(); !refilled) return tl::unexpected(refilled.error());
    end = buffer_.find('\n', at_);
  }
  if (at_ == buffer_.size()) return false;
  const bool has_end = end != std::string::npos;
  auto text = std::string_view(buffer_).substr(at_, (has_end ? end : buffer_.size()) - at_);
  const bool is_piece = text.size() > limits::search_line_bytes_max;
  if (is_piece) text = text.substr(0, cut_bytes(text, limits::search_line_bytes_max));
  line = {number_, buffer_offset_ + at_, text, is_first_piece_};
  is_first_piece_ = !is_piece;
  if (is_piece) {
    at_ += text.size() - overlap_bytes;
    return true;
  }
  if (line.text.ends_with('\r')) line.text.remove_suffix(1);
  at_ += text.size() + (has_end ? 1 : 0);
  ++number_;
  return true;
}

}  // namespace ratchet
