#include "http/server/message.hpp"

#include <algorithm>

#include "http/server/ascii.hpp"

namespace ratchet {

std::optional<std::string_view> Request::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (same_ignoring_case(key, name)) return value;
  return std::nullopt;
}

std::size_t Request::count(std::string_view name) const {
  return static_cast<std::size_t>(std::count_if(
      headers.begin(), headers.end(), [&](const auto& h) { return same_ignoring_case(h.first, name); }));
}

void Pieces::add(std::string bytes) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  add_shared(*owner, owner);
}

void Pieces::add_shared(std::string_view bytes, std::shared_ptr<const void> owner) {
  if (bytes.empty()) return;
  size_ += bytes.size();
  views_.push_back(bytes);
  if (owner && (owners_.empty() || owners_.back() != owner)) owners_.push_back(std::move(owner));
}

}  // namespace ratchet
