#include "runtime/definition_reader.hpp"

#include <algorithm>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/json/dom.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/pointer.hpp"

namespace ratchet {

namespace {

std::string shown(std::string_view text) {
  return fmt::format("'{}'", text.substr(0, utf8_cut(text, 60)));
}

/// "name, description, kind"
std::string listed(std::span<const FieldRule> rules) {
  std::string list;
  for (const auto& rule : rules)
    if (rule.not_enforced.empty()) list.append(list.empty() ? "" : ", ").append(rule.name);
  return list.empty() ? "none" : list;
}

}  // namespace

ObjectReader::ObjectReader(const boost::json::value& value,
                           std::string pointer,
                           std::span<const FieldRule> rules,
                           std::optional<Error>& error)
    : pointer_(std::move(pointer)), error_(error) {
  if (!value.is_object()) {
    invalid("", fmt::format("expected an object, found {}", kind_name(value)));
    return;
  }
  object_ = &value.get_object();
  for (const auto& [key, member] : *object_) {
    const std::string_view name(key);
    const auto rule =
        std::find_if(rules.begin(), rules.end(), [&](const FieldRule& known) { return known.name == name; });
    const auto at = pointer_to("", name).substr(1);
    if (rule == rules.end())
      refuse(ErrorCode::unknown_field,
             at,
             fmt::format("there is no field {}; known are {}", shown(name), listed(rules)));
    else if (!rule->not_enforced.empty())
      refuse(ErrorCode::not_supported, at, fmt::format("{}: {}", name, rule->not_enforced));
  }
}

const boost::json::value* ObjectReader::find(std::string_view field) const {
  return object_ ? object_->if_contains(field) : nullptr;
}

const boost::json::value* ObjectReader::get(std::string_view field, bool required) {
  const auto* value = find(field);
  if (!value && required) invalid("", fmt::format("the field {} is required", field));
  return value;
}

void ObjectReader::refuse(ErrorCode code, std::string_view field, std::string why) {
  if (error_) return;
  std::string at = pointer_;
  if (!field.empty()) at.append("/").append(field);
  error_ = Error{code, std::move(why), std::move(at)};
}

void ObjectReader::refuse_choice(std::string_view field, std::string_view word, std::string_view words) {
  invalid(field, fmt::format("{}: expected one of {}; found {}", field, words, shown(word)));
}

std::string ObjectReader::text(std::string_view field,
                               std::size_t bytes_min,
                               std::size_t bytes_max,
                               std::optional<std::string> fallback) {
  const auto* value = get(field, !fallback);
  if (!value) return fallback.value_or("");
  if (!value->is_string()) {
    invalid(field, fmt::format("{}: expected a string, found {}", field, kind_name(*value)));
    return fallback.value_or("");
  }
  const auto& string = value->get_string();
  if (string.size() < bytes_min || string.size() > bytes_max)
    invalid(field,
            bytes_min == bytes_max
                ? fmt::format("{}: expected {} bytes, found {}", field, bytes_max, string.size())
                : fmt::format(
                      "{}: expected {} to {} bytes, found {}", field, bytes_min, bytes_max, string.size()));
  return std::string(string);
}

std::int64_t ObjectReader::integer(std::string_view field,
                                   std::int64_t min,
                                   std::int64_t max,
                                   std::optional<std::int64_t> fallback) {
  const auto* value = get(field, !fallback);
  if (!value) return fallback.value_or(min);
  if (!value->is_int64() || value->get_int64() < min || value->get_int64() > max) {
    std::string found;
    append_json(found, *value);
    invalid(field,
            fmt::format("{}: expected an integer from {} to {}, found {}",
                        field,
                        min,
                        max,
                        value->is_number() ? found : std::string(kind_name(*value))));
    return fallback.value_or(min);
  }
  return value->get_int64();
}

bool ObjectReader::boolean(std::string_view field, std::optional<bool> fallback) {
  const auto* value = get(field, !fallback);
  if (!value) return fallback.value_or(false);
  if (value->is_bool()) return value->get_bool();
  invalid(field, fmt::format("{}: expected true or false, found {}", field, kind_name(*value)));
  return fallback.value_or(false);
}

std::string ObjectReader::number_text(std::string_view field, double min, double max) {
  const auto* value = find(field);
  if (!value) return {};
  boost::system::error_code not_a_number;
  const double number = value->to_number<double>(not_a_number);
  if (not_a_number || number < min || number > max) {
    invalid(field, fmt::format("{}: expected a number from {} to {}", field, min, max));
    return {};
  }
  return json(field);
}

std::string ObjectReader::json(std::string_view field) const {
  std::string text;
  if (const auto* value = find(field)) append_json(text, *value);
  return text;
}

ObjectReader ObjectReader::object(std::string_view field, std::span<const FieldRule> rules, bool required) {
  static const boost::json::value empty = boost::json::object();
  const auto* value = get(field, required);
  return {value ? *value : empty, pointer_to(pointer_, field), rules, error_};
}

std::vector<const boost::json::value*> ObjectReader::array(std::string_view field,
                                                           std::size_t items_max,
                                                           bool required) {
  std::vector<const boost::json::value*> items;
  const auto* value = get(field, required);
  if (!value) return items;
  if (!value->is_array()) {
    invalid(field, fmt::format("{}: expected an array, found {}", field, kind_name(*value)));
    return items;
  }
  if (value->get_array().size() > items_max) {
    invalid(
        field,
        fmt::format("{}: expected at most {} items, found {}", field, items_max, value->get_array().size()));
    return items;
  }
  for (const auto& item : value->get_array())
    items.push_back(&item);
  return items;
}

std::vector<std::string> ObjectReader::texts(std::string_view field,
                                             std::size_t items_max,
                                             std::size_t bytes_max) {
  std::vector<std::string> all;
  for (const auto* item : array(field, items_max)) {
    const auto at = fmt::format("{}/{}", field, all.size());
    if (!item->is_string())
      invalid(at, fmt::format("expected a string, found {}", kind_name(*item)));
    else if (item->get_string().empty() || item->get_string().size() > bytes_max)
      invalid(at, fmt::format("expected 1 to {} bytes, found {}", bytes_max, item->get_string().size()));
    all.emplace_back(item->is_string() ? std::string_view(item->get_string()) : "");
  }
  return all;
}

ObjectReader ObjectReader::item(const boost::json::value& value,
                                std::string_view field,
                                std::size_t index,
                                std::span<const FieldRule> rules) {
  return {value, fmt::format("{}/{}/{}", pointer_, field, index), rules, error_};
}

std::vector<std::pair<std::string_view, const boost::json::value*>> ObjectReader::members(
    std::string_view field, std::size_t members_max) {
  std::vector<std::pair<std::string_view, const boost::json::value*>> all;
  const auto* value = find(field);
  if (!value) return all;
  if (!value->is_object()) {
    invalid(field, fmt::format("{}: expected an object, found {}", field, kind_name(*value)));
    return all;
  }
  if (value->get_object().size() > members_max) {
    invalid(field,
            fmt::format(
                "{}: expected at most {} members, found {}", field, members_max, value->get_object().size()));
    return all;
  }
  for (const auto& [key, member] : value->get_object())
    all.emplace_back(key, &member);
  return all;
}

}  // namespace ratchet
