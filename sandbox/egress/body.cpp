#include <algorithm>
#include <charconv>

#include "sandbox/egress/request.hpp"

namespace ratchet::sandbox {

namespace {

constexpr std::size_t line_bytes_max = 1'024;

}  // namespace

std::size_t RequestBody::take(std::string_view bytes) {
  if (kind_ == Kind::endless) return bytes.size();
  if (kind_ == Kind::length) {
    const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
    left_ -= taken;
    return taken;
  }
  std::size_t at = 0;
  while (at < bytes.size() && at_ != At::end && !broken_) {
    if (at_ == At::data) {
      const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size() - at));
      left_ -= taken;
      at += taken;
      if (left_ == 0) at_ = At::after;
      continue;
    }
    line_ += bytes[at++];
    if (line_.size() > line_bytes_max) broken_ = true;
    if (!line_.ends_with("\r\n")) continue;
    line_.resize(line_.size() - 2);
    take_line(line_);
    line_.clear();
  }
  return at;
}

void RequestBody::take_line(std::string_view line) {
  if (line.find('\n') != line.npos || line.find('\r') != line.npos) {
    broken_ = true;
  } else if (at_ == At::after) {
    broken_ = !line.empty();
    at_ = At::size;
  } else if (at_ == At::trailer) {
    if (line.empty()) at_ = At::end;
  } else {
    const auto digits = line.substr(0, line.find(';'));
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), left_, 16);
    broken_ =
        digits.empty() || digits.size() > 15 || error != std::errc() || end != digits.data() + digits.size();
    at_ = left_ == 0 ? At::trailer : At::data;
  }
}

}  // namespace ratchet::sandbox
