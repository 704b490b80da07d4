#include "runtime/tools/schema/references.hpp"

#include <charconv>

#include <fmt/format.h>

#include "runtime/json/utf8.hpp"
#include "runtime/pointer.hpp"
#include "runtime/tools/url.hpp"

namespace ratchet::schema {

namespace {

using boost::json::value;

const value* child_of(const value& parent, std::string_view step) {
  if (parent.is_object()) return parent.get_object().if_contains(step);
  if (!parent.is_array()) return nullptr;
  std::size_t index = 0;
  const auto end = step.data() + step.size();
  const auto read = std::from_chars(step.data(), end, index);
  const bool is_index = read.ec == std::errc{} && read.ptr == end && (step.size() == 1 || step[0] != '0');
  return is_index ? parent.get_array().if_contains(index) : nullptr;
}

/// An absolute URI: only such a one means the same from everywhere.
bool has_scheme(std::string_view id) {
  const auto colon = id.find(':');
  return colon != std::string_view::npos && colon > 0 && id.find_first_of("/?#") > colon;
}

}  // namespace

std::optional<std::string_view> References::fragment(std::string_view reference) const {
  const auto hash = std::min(reference.find('#'), reference.size());
  const auto document = reference.substr(0, hash);
  if (!document.empty() && !(document == id_ && has_scheme(id_))) return std::nullopt;
  return reference.substr(std::min(hash + 1, reference.size()));
}

Child References::find(std::string_view fragment) const {
  const auto decoded = percent_decoded(fragment);
  if (decoded.empty() || decoded.front() == '/') return find_pointer(decoded);
  const auto anchor = anchors_.find(decoded);
  return anchor == anchors_.end() ? nullptr : anchor->second;
}

Child References::find_pointer(std::string_view pointer) const {
  const auto steps = split_pointer(pointer);
  if (!steps) return nullptr;
  const value* at = &document_;
  for (const std::string& step : *steps)
    if (at = child_of(*at, step); !at) return nullptr;
  const auto node = nodes_.find(at);
  return node == nodes_.end() ? nullptr : node->second;
}

void References::resolve(Problem& problem) const {
  for (const auto& [reference, from] : pending_) {
    const std::string_view text(reference->get_string());
    const auto shown = text.substr(0, utf8_cut(text, 100));
    const auto local = fragment(text);
    if (!local)
      return problem.set(*reference,
                         ErrorCode::not_supported,
                         fmt::format("{} is in another document; only references within this one, "
                                     "beginning with #, are followed",
                                     shown));
    *from = find(*local);
    if (!*from)
      return problem.set(*reference,
                         ErrorCode::invalid_definition,
                         fmt::format("{} leads to no schema of this document", shown));
  }
}

}  // namespace ratchet::schema
