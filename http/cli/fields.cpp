#include "http/cli/fields.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

namespace ratchet::cli {

namespace json = boost::json;

struct Fields::Root {
  json::value value;

  const json::value* find(std::string_view path) const {
    const json::value* at = &value;
    while (at != nullptr && !path.empty()) {
      const auto name = path.substr(0, path.find('/'));
      path.remove_prefix(std::min(path.size(), name.size() + 1));
      const auto* object = at->if_object();
      at = object == nullptr ? nullptr : object->if_contains(name);
    }
    return at;
  }
};

namespace {

std::string text_of(const json::value* value) {
  if (value == nullptr || value->is_null()) return "";
  return value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
}

std::string block_text(const json::value& block) {
  const auto* object = block.if_object();
  if (object == nullptr) return text_of(&block);
  const auto field = [&](std::string_view name) { return text_of(object->if_contains(name)); };
  if (object->contains("artifact_id"))
    return fmt::format("[{}, {} bytes] {}", field("artifact_id"), field("bytes"), field("head"));
  return field("type") == "image" ? "[an image]" : field("text");
}

}  // namespace

Fields::Fields(std::string_view text) {
  boost::system::error_code error;
  auto value = json::parse(text, error);
  if (!error) root_ = std::make_unique<const Root>(Root{std::move(value)});
}

Fields::~Fields() = default;

std::string Fields::text(std::string_view path) const {
  return root_ ? text_of(root_->find(path)) : "";
}

std::uint64_t Fields::number(std::string_view path) const {
  const auto* value = root_ ? root_->find(path) : nullptr;
  boost::system::error_code error;
  const auto number = value == nullptr ? 0 : value->to_number<std::uint64_t>(error);
  return error ? 0 : number;
}

std::vector<std::string> Fields::texts(std::string_view path) const {
  std::vector<std::string> out;
  const auto* value = root_ ? root_->find(path) : nullptr;
  if (value != nullptr && value->is_array())
    for (const auto& item : value->get_array())
      out.push_back(text_of(&item));
  return out;
}

std::string Fields::content(std::string_view path) const {
  const auto* value = root_ ? root_->find(path) : nullptr;
  if (value == nullptr || !value->is_array()) return text_of(value);
  std::string out;
  for (const auto& block : value->get_array()) {
    const auto text = block_text(block);
    if (!out.empty() && !text.empty()) out += '\n';
    out += text;
  }
  return out;
}

}  // namespace ratchet::cli
