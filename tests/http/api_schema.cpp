#include "tests/http/api_schema.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <re2/re2.h>

#include "runtime/json/dom.hpp"
#include "runtime/pointer.hpp"

namespace ratchet::testing {

namespace {

namespace json = boost::json;

/// Every keyword that the validator knows. A description that uses another one fails loudly: nothing is taken
/// for checked that is not.
const std::set<std::string_view> known_keywords = {"$ref",
                                                   "type",
                                                   "properties",
                                                   "required",
                                                   "enum",
                                                   "items",
                                                   "oneOf",
                                                   "anyOf",
                                                   "allOf",
                                                   "pattern",
                                                   "minimum",
                                                   "maximum",
                                                   "minLength",
                                                   "maxLength",
                                                   "minItems",
                                                   "additionalProperties",
                                                   "format",
                                                   "description",
                                                   "default"};

class Validator {
 public:
  Validator(const json::value& document, std::vector<std::string>& errors)
      : document_(document), errors_(errors) {}

  void check(const json::value& value, const json::value& schema, const std::string& at, bool closed = true) {
    const auto& rules = schema.as_object();
    for (const auto& [keyword, rule] : rules)
      if (!known_keywords.contains(std::string_view(keyword)))
        throw std::logic_error("the validator does not know the keyword " + std::string(keyword));
    if (const auto* ref = rules.if_contains("$ref")) check(value, resolve(*ref), at, closed);
    if (const auto* type = rules.if_contains("type")) check_type(value, *type, at);
    if (const auto* values = rules.if_contains("enum")) {
      const auto& all = values->as_array();
      if (std::find(all.begin(), all.end(), value) == all.end()) wrong(at, value, "is none of the values");
    }
    check_number(value, rules, at);
    check_string(value, rules, at);
    check_array(value, rules, at);
    if (const auto* parts = rules.if_contains("allOf"))
      for (const auto& part : parts->as_array())
        check(value, part, at, false);
    for (const char* choice : {"oneOf", "anyOf"})
      if (const auto* options = rules.if_contains(choice)) check_choice(value, *options, choice, at);
    if (value.is_object()) check_object(value.as_object(), schema, at, closed);
  }

  const json::value& resolve(const json::value& ref) const {
    const std::string_view pointer = ref.as_string();
    const auto* found = &document_;
    const auto steps = split_pointer(pointer.substr(1));
    for (const auto& step : *steps)
      found = &found->as_object().at(step);
    return *found;
  }

 private:
  void wrong(const std::string& at, const json::value& value, std::string_view what) {
    std::string text;
    append_json(text, value);
    errors_.push_back(fmt::format("{}: {} {}", at.empty() ? "the body" : at, text.substr(0, 200), what));
  }

  static bool has_type(const json::value& value, std::string_view type) {
    if (type == "integer") return value.is_int64() || value.is_uint64();
    if (type == "number") return value.is_number();
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_bool();
    if (type == "null") return value.is_null();
    throw std::logic_error("no such type: " + std::string(type));
  }

  void check_type(const json::value& value, const json::value& type, const std::string& at) {
    const auto matches = [&](const json::value& each) { return has_type(value, each.as_string()); };
    const bool right = type.is_array() ? std::any_of(type.as_array().begin(), type.as_array().end(), matches)
                                       : matches(type);
    std::string wanted;
    append_json(wanted, type);
    if (!right) wrong(at, value, "is no " + wanted);
  }

  void check_number(const json::value& value, const json::object& rules, const std::string& at) {
    if (!value.is_number()) return;
    const auto number = value.to_number<double>();
    if (const auto* least = rules.if_contains("minimum"); least && number < least->to_number<double>())
      wrong(at, value, "is too small");
    if (const auto* most = rules.if_contains("maximum"); most && number > most->to_number<double>())
      wrong(at, value, "is too large");
  }

  void check_string(const json::value& value, const json::object& rules, const std::string& at) {
    if (!value.is_string()) return;
    const std::string_view text = value.as_string();
    if (const auto* least = rules.if_contains("minLength");
        least && text.size() < least->to_number<std::size_t>())
      wrong(at, value, "is too short");
    if (const auto* most = rules.if_contains("maxLength");
        most && text.size() > most->to_number<std::size_t>())
      wrong(at, value, "is too long");
    if (const auto* pattern = rules.if_contains("pattern")) {
      const re2::RE2 expression(std::string(pattern->as_string()));
      if (!expression.ok()) throw std::logic_error("no such pattern: " + expression.error());
      if (!re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), expression))
        wrong(at, value, "does not match " + expression.pattern());
    }
  }

  void check_array(const json::value& value, const json::object& rules, const std::string& at) {
    if (!value.is_array()) return;
    const auto& items = value.as_array();
    if (const auto* least = rules.if_contains("minItems");
        least && items.size() < least->to_number<std::size_t>())
      wrong(at, value, "has too few items");
    if (const auto* schema = rules.if_contains("items"))
      for (std::size_t i = 0; i < items.size(); ++i)
        check(items[i], *schema, fmt::format("{}/{}", at, i));
  }

  void check_choice(const json::value& value,
                    const json::value& options,
                    std::string_view choice,
                    const std::string& at) {
    std::size_t right = 0;
    std::string reasons;
    for (const auto& option : options.as_array()) {
      std::vector<std::string> errors;
      Validator(document_, errors).check(value, option, at);
      if (errors.empty()) ++right;
      for (const auto& error : errors)
        reasons += "; " + error;
    }
    if (right == 0 || (choice == "oneOf" && right > 1))
      wrong(at, value, fmt::format("fits {} of {}{}", right, choice, reasons));
  }

  void check_object(const json::object& object,
                    const json::value& schema,
                    const std::string& at,
                    bool closed) {
    const auto& rules = schema.as_object();
    if (const auto* required = rules.if_contains("required"))
      for (const auto& name : required->as_array())
        if (!object.contains(name.as_string())) wrong(at, object, "lacks " + std::string(name.as_string()));
    if (const auto* properties = rules.if_contains("properties"))
      for (const auto& [name, property] : properties->as_object())
        if (const auto* member = object.if_contains(name))
          check(*member, property, at + "/" + std::string(name));
    if (closed && !rules.contains("$ref")) check_others(object, schema, at);
  }

  /// Fields that `properties` does not name, its parts' included.
  void check_others(const json::object& object, const json::value& schema, const std::string& at) {
    std::set<std::string> declared;
    collect(schema, declared);
    const auto* others = schema.as_object().if_contains("additionalProperties");
    for (const auto& [name, member] : object) {
      if (declared.contains(std::string(name))) continue;
      if (others && others->is_bool() && others->as_bool()) continue;
      if (others && others->is_object())
        check(member, *others, at + "/" + std::string(name));
      else if (!schema.as_object().contains("oneOf") && !schema.as_object().contains("anyOf"))
        wrong(at, member, "is a field that is not described: " + std::string(name));
    }
  }

  void collect(const json::value& schema, std::set<std::string>& declared) const {
    const auto& rules = schema.as_object();
    if (const auto* ref = rules.if_contains("$ref")) collect(resolve(*ref), declared);
    if (const auto* parts = rules.if_contains("allOf"))
      for (const auto& part : parts->as_array())
        collect(part, declared);
    if (const auto* properties = rules.if_contains("properties"))
      for (const auto& [name, property] : properties->as_object())
        declared.emplace(name);
  }

  const json::value& document_;
  std::vector<std::string>& errors_;
};

bool path_matches(std::string_view pattern, std::string_view path) {
  while (true) {
    const auto p = pattern.substr(0, pattern.find('/')), s = path.substr(0, path.find('/'));
    if (!p.starts_with('{') && p != s) return false;
    if (p.size() == pattern.size() || s.size() == path.size())
      return p.size() == pattern.size() && s.size() == path.size();
    pattern.remove_prefix(p.size() + 1);
    path.remove_prefix(s.size() + 1);
  }
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

}  // namespace

ApiDescription::ApiDescription(std::string_view document) : document_(parse_json(document).value()) {}

std::vector<std::string> ApiDescription::operations() const {
  std::vector<std::string> all;
  for (const auto& [path, item] : document_.at("paths").as_object())
    for (const auto& [method, operation] : item.as_object()) {
      std::string upper(method);
      std::transform(
          upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
      all.push_back(fmt::format("{} {}", upper, std::string_view(path)));
    }
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<std::string> ApiDescription::check(const json::value& value, std::string_view schema_name) const {
  std::vector<std::string> errors;
  Validator(document_, errors).check(value, document_.at("components").at("schemas").at(schema_name), "");
  return errors;
}

std::vector<std::string> ApiDescription::check_answer(std::string_view method,
                                                      std::string_view target,
                                                      int status,
                                                      std::string_view content_type,
                                                      std::string_view body) const {
  std::vector<std::string> errors;
  Validator validator(document_, errors);
  const auto type = content_type.substr(0, content_type.find(';'));
  const json::object* response = nullptr;
  for (const auto& [path, item] : document_.at("paths").as_object()) {
    if (!path_matches(path, target.substr(0, target.find('?')))) continue;
    const auto* operation = item.as_object().if_contains(lower(method));
    if (!operation) continue;
    const auto& responses = operation->at("responses").as_object();
    const auto* found = responses.if_contains(std::to_string(status));
    if (!found && status >= 400) found = responses.if_contains("default");
    if (!found) return {fmt::format("{} {} does not describe the status {}", method, target, status)};
    response = &found->as_object();
  }
  // What has no operation is answered with a problem too.
  const auto* ref = response ? response->if_contains("$ref") : nullptr;
  if (ref) response = &validator.resolve(*ref).as_object();
  const json::value* schema = nullptr;
  if (!response) {
    if (status < 400 || type != "application/problem+json")
      return {fmt::format("{} {} is not described and was answered {} {}", method, target, status, type)};
    schema = &document_.at("components").at("schemas").at("Problem");
  } else if (const auto* content = response->if_contains("content")) {
    const auto* media = content->as_object().if_contains(type);
    if (!media)
      return {fmt::format("{} {} {} does not describe the type '{}'", method, target, status, type)};
    schema = &media->at("schema");
  } else {
    if (!body.empty()) errors.push_back("an answer without content has a body");
    return errors;
  }
  if (type.find("json") == std::string_view::npos) return errors;
  const auto value = parse_json(body);
  if (!value) return {fmt::format("the body is no JSON: {}: {}", value.error().text, body.substr(0, 500))};
  validator.check(*value, *schema, "");
  return errors;
}

}  // namespace ratchet::testing
