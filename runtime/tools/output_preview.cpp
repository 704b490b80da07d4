#include "runtime/tools/output_preview.hpp"

#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

/// How many bytes at the end may be the beginning of a code point that goes on.
std::size_t unfinished(std::string_view bytes) {
  for (std::size_t back = 1; back <= 3 && back <= bytes.size(); ++back) {
    const auto lead = static_cast<unsigned char>(bytes[bytes.size() - back]);
    if ((lead & 0xC0) == 0x80) continue;  // goes on with an earlier byte
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

}  // namespace

std::optional<ToolOutput> OutputPreview::feed(std::string_view bytes) {
  if (over_) return std::nullopt;
  held_ += bytes;
  const std::size_t held = unfinished(held_);
  std::string text = sanitize_utf8(std::string_view(held_).substr(0, held_.size() - held));
  held_.erase(0, held_.size() - held);
  const std::size_t room = limits::output_preview_bytes_max - shown_;
  if (text.size() > room) {
    text.resize(utf8_cut(text, room));
    over_ = true;
    held_ = {};
  }
  if (text.empty()) return std::nullopt;
  ToolOutput output{call_id_, attempt_, shown_, std::move(text)};
  shown_ += output.text.size();
  return output;
}

}  // namespace ratchet
