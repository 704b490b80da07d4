#include "bench/load/event_reader.hpp"

#include <charconv>

#include "bench/load/json.hpp"

namespace ratchet::bench {

namespace {

std::string_view value_of(std::string_view line, std::string_view name) {
  line.remove_prefix(name.size());
  if (line.starts_with(' ')) line.remove_prefix(1);
  return line;
}

}  // namespace

void EventReader::read(std::string_view bytes) {
  bytes_ += bytes.size();
  for (;;) {
    const auto end = bytes.find('\n');
    if (end == std::string_view::npos) {
      line_ += bytes;
      return;
    }
    if (line_.empty()) {
      take_line(bytes.substr(0, end));
    } else {
      line_ += bytes.substr(0, end);
      take_line(line_);
      line_.clear();
    }
    bytes.remove_prefix(end + 1);
  }
}

void EventReader::take_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.starts_with(':')) return;
  if (line.empty()) {
    if (type_ == "model.delta") ++deltas_;
    if (has_id_) ++events_;
    in_event_ = has_id_ = false;
    type_.clear();
    return;
  }
  in_event_ = true;
  if (line.starts_with("event:")) type_ = value_of(line, "event:");
  if (line.starts_with("id:")) {
    const auto text = value_of(line, "id:");
    std::uint64_t id = 0;
    std::from_chars(text.data(), text.data() + text.size(), id);
    if (last_id_ != 0 && id != last_id_ + 1) ++gaps_;
    last_id_ = id;
    has_id_ = true;
  }
  if (type_ == "run.finished" && line.starts_with("data:"))
    stop_reason_ = text_at(value_of(line, "data:"), "/stop_reason").value_or("missing");
}

}  // namespace ratchet::bench
