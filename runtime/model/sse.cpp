#include "runtime/model/sse.hpp"

namespace ratchet {

bool SseReader::feed(std::string_view bytes, const OnEvent& on_event) {
  if (after_cr_ && !bytes.empty()) {
    if (bytes[0] == '\n') bytes.remove_prefix(1);
    after_cr_ = false;
  }
  std::size_t at = 0;
  auto line_feed = bytes.find('\n');
  while (!too_long_) {
    if (line_feed < at) line_feed = bytes.find('\n', at);
    auto end = bytes.substr(0, line_feed).find('\r', at);
    const bool carriage_return = end != std::string_view::npos;
    if (!carriage_return) end = line_feed;

    const auto piece = bytes.substr(at, end - at);
    if (line_.size() + piece.size() > bytes_max_) {
      too_long_ = true;
    } else if (end == std::string_view::npos) {
      line_.append(piece);
      break;
    } else if (line_.empty()) {
      take_line(piece, on_event);
    } else {
      line_.append(piece);
      take_line(line_, on_event);
      line_.clear();
    }
    at = end + 1;
    if (carriage_return && at == bytes.size()) after_cr_ = true;
    if (carriage_return && at < bytes.size() && bytes[at] == '\n') ++at;
  }
  return !too_long_;
}

bool SseReader::finish(const OnEvent& on_event) {
  if (too_long_) return false;
  if (!line_.empty()) take_line(line_, on_event);
  line_.clear();
  if (!too_long_) dispatch(on_event);
  return !too_long_;
}

void SseReader::reset() {
  line_.clear();
  type_.clear();
  data_.clear();
  has_data_ = false;
  first_line_ = true;
  after_cr_ = false;
  too_long_ = false;
}

void SseReader::take_line(std::string_view line, const OnEvent& on_event) {
  if (first_line_ && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  first_line_ = false;
  if (line.empty()) return dispatch(on_event);
  const auto colon = line.find(':');
  if (colon == 0) return;  // a comment
  auto value = colon == std::string_view::npos ? std::string_view{} : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  take_field(line.substr(0, colon), value);
}

void SseReader::take_field(std::string_view name, std::string_view value) {
  if (name == "event") {
    type_ = value;
  } else if (name == "data" && !value.starts_with(':')) {
    if (data_.size() + 1 + value.size() > bytes_max_) {
      too_long_ = true;
      return;
    }
    if (has_data_) data_ += '\n';
    data_.append(value);
    has_data_ = true;
  }  // `id` and `retry` are for clients that reconnect; a reply is never spliced
}

void SseReader::dispatch(const OnEvent& on_event) {
  if (!data_.empty()) on_event(type_, data_);
  type_.clear();
  data_.clear();
  has_data_ = false;
}

}  // namespace ratchet
