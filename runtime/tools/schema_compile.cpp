#include <algorithm>

#include <fmt/format.h>

#include "runtime/json/dom.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"
#include "runtime/pointer.hpp"
#include "runtime/tools/schema.hpp"
#include "runtime/tools/schema_node.hpp"

namespace ratchet {

namespace {

using boost::json::value;

class SchemaCompiler {
 public:
  std::optional<Error> error;

  SchemaNode::Child compile(const value& schema, const std::string& pointer) {
    auto node = std::make_shared<SchemaNode>();
    if (schema.is_bool()) {
      node->never = !schema.get_bool();
      return node;
    }
    if (!schema.is_object()) {
      refuse(pointer, "expected a schema, found " + std::string(kind_name(schema)));
      return node;
    }
    for (const auto& [key, member] : schema.get_object()) {
      keyword(*node, key, member, pointer_to(pointer, key));
      if (error) break;
    }
    std::sort(node->required.begin(), node->required.end());
    return node;
  }

 private:
  void refuse(const std::string& pointer, std::string why, ErrorCode code = ErrorCode::invalid_definition) {
    if (!error) error = Error{code, std::move(why), pointer};
  }

  void keyword(SchemaNode& node, std::string_view key, const value& given, const std::string& pointer);

  bool string(const value& given, const std::string& pointer) {
    if (!given.is_string()) refuse(pointer, fmt::format("expected a string, found {}", kind_name(given)));
    return given.is_string();
  }

  void boolean(const value& given, const std::string& pointer) {
    if (!given.is_bool()) refuse(pointer, fmt::format("expected true or false, found {}", kind_name(given)));
  }

  SchemaNumber number(const value& given, const std::string& pointer) {
    if (given.is_number()) return schema_number(given);
    refuse(pointer, fmt::format("expected a number, found {}", kind_name(given)));
    return 0;
  }

  std::uint64_t count(const value& given, const std::string& pointer) {
    if (given.is_int64() && given.get_int64() >= 0) return static_cast<std::uint64_t>(given.get_int64());
    refuse(pointer, "expected an integer that is not negative");
    return 0;
  }

  void type(SchemaNode& node, const value& given, const std::string& pointer) {
    const auto add = [&](const value& word) {
      for (const auto& [type, name, phrase] : schema_type_names) {
        if (!word.is_string() || std::string_view(word.get_string()) != name) continue;
        if (node.types & type) refuse(pointer, fmt::format("the type {} comes twice", name));
        node.types |= type;
        return;
      }
      refuse(pointer, "expected null, boolean, object, array, number, string or integer");
    };
    if (!given.is_array()) return add(given);
    if (given.get_array().empty()) refuse(pointer, "expected at least one type");
    for (const auto& word : given.get_array())
      add(word);
  }

  void properties(SchemaNode& node, const value& given, const std::string& pointer) {
    if (!given.is_object())
      return refuse(pointer, fmt::format("expected an object, found {}", kind_name(given)));
    for (const auto& [name, schema] : given.get_object())
      node.properties.emplace_back(name, compile(schema, pointer_to(pointer, name)));
    std::sort(node.properties.begin(), node.properties.end(), [](const auto& a, const auto& b) {
      return a.first < b.first;
    });
  }

  void required(SchemaNode& node, const value& given, const std::string& pointer) {
    if (!given.is_array())
      return refuse(pointer, fmt::format("expected an array, found {}", kind_name(given)));
    for (const auto& name : given.get_array()) {
      if (!string(name, pointer_to(pointer, std::to_string(node.required.size())))) return;
      node.required.emplace_back(name.get_string());
    }
  }

  void choices(SchemaNode& node, const value& given, const std::string& pointer) {
    if (!given.is_array() || given.get_array().empty()) return refuse(pointer, "expected an array of values");
    if (node.choices)
      return refuse(pointer, "enum and const say the same thing twice", ErrorCode::not_supported);
    node.choices = given.get_array();
    for (const auto& choice : *node.choices) {
      if (!node.choices_text.empty()) node.choices_text += ", ";
      append_json(node.choices_text, choice);
    }
  }

  void pattern(SchemaNode& node, const value& given, const std::string& pointer) {
    if (!string(given, pointer)) return;
    if (++patterns_ > limits::schema_patterns_max)
      return refuse(pointer, fmt::format("more than {} patterns", limits::schema_patterns_max));
    auto compiled = compile_pattern(given.get_string());
    if (!compiled) return refuse(pointer, compiled.error().text, ErrorCode::not_supported);
    node.pattern = std::move(*compiled);
  }

  using C = SchemaCompiler;
  using N = SchemaNode;
  using V = const value;
  using P = const std::string;

  struct Keyword {
    std::string_view name;
    void (*read)(C&, N&, V&, P&);
  };

  static const Keyword keywords[];

  std::size_t patterns_ = 0;
};

const SchemaCompiler::Keyword SchemaCompiler::keywords[] = {
    {"type", [](C& c, N& n, V& v, P& p) { c.type(n, v, p); }},
    {"properties", [](C& c, N& n, V& v, P& p) { c.properties(n, v, p); }},
    {"required", [](C& c, N& n, V& v, P& p) { c.required(n, v, p); }},
    {"additionalProperties", [](C& c, N& n, V& v, P& p) { n.additional = c.compile(v, p); }},
    {"items", [](C& c, N& n, V& v, P& p) { n.items = c.compile(v, p); }},
    {"enum", [](C& c, N& n, V& v, P& p) { c.choices(n, v, p); }},
    {"const", [](C& c, N& n, V& v, P& p) { c.choices(n, boost::json::array(1, v), p); }},
    {"minimum", [](C& c, N& n, V& v, P& p) { n.minimum = c.number(v, p); }},
    {"maximum", [](C& c, N& n, V& v, P& p) { n.maximum = c.number(v, p); }},
    {"exclusiveMinimum", [](C& c, N& n, V& v, P& p) { n.exclusive_minimum = c.number(v, p); }},
    {"exclusiveMaximum", [](C& c, N& n, V& v, P& p) { n.exclusive_maximum = c.number(v, p); }},
    {"minLength", [](C& c, N& n, V& v, P& p) { n.min_length = c.count(v, p); }},
    {"maxLength", [](C& c, N& n, V& v, P& p) { n.max_length = c.count(v, p); }},
    {"minItems", [](C& c, N& n, V& v, P& p) { n.min_items = c.count(v, p); }},
    {"maxItems", [](C& c, N& n, V& v, P& p) { n.max_items = c.count(v, p); }},
    {"pattern", [](C& c, N& n, V& v, P& p) { c.pattern(n, v, p); }},
    // Annotations: of the right type, and without effect.
    {"title", [](C& c, N&, V& v, P& p) { c.string(v, p); }},
    {"description", [](C& c, N&, V& v, P& p) { c.string(v, p); }},
    {"format", [](C& c, N&, V& v, P& p) { c.string(v, p); }},
    {"$schema", [](C& c, N&, V& v, P& p) { c.string(v, p); }},
    {"$comment", [](C& c, N&, V& v, P& p) { c.string(v, p); }},
    {"deprecated", [](C& c, N&, V& v, P& p) { c.boolean(v, p); }},
    {"default", [](C&, N&, V&, P&) {}},
    {"examples", [](C&, N&, V&, P&) {}},
};

void SchemaCompiler::keyword(SchemaNode& node,
                             std::string_view key,
                             const value& given,
                             const std::string& pointer) {
  for (const auto& [name, read] : keywords)
    if (name == key) return read(*this, node, given, pointer);
  refuse(pointer,
         fmt::format("the JSON Schema keyword '{}' is not checked by this version",
                     key.substr(0, utf8_cut(key, 60))),
         ErrorCode::not_supported);
}

}  // namespace

const SchemaNode* SchemaNode::find(std::string_view property) const {
  const auto at = std::lower_bound(
      properties.begin(), properties.end(), property, [](const auto& each, std::string_view name) {
        return each.first < name;
      });
  return at != properties.end() && at->first == property ? at->second.get() : nullptr;
}

Result<ArgumentSchema> ArgumentSchema::compile(std::string_view json) {
  if (json.size() > limits::schema_bytes_max)
    return fail(
        ErrorCode::invalid_definition,
        fmt::format("the schema has {} bytes; at most {} are taken", json.size(), limits::schema_bytes_max));
  const auto schema = parse_json(json);
  if (!schema) return tl::unexpected(schema.error());
  SchemaCompiler compiler;
  auto root = compiler.compile(*schema, "");
  if (compiler.error) return tl::unexpected(*compiler.error);
  if (root->types != type_object)
    return fail(
        ErrorCode::invalid_definition, "the schema of arguments has to say \"type\": \"object\"", "/type");
  return ArgumentSchema(std::move(root));
}

bool ArgumentSchema::promises(std::string_view pointer) const {
  const auto steps = split_pointer(pointer);
  if (!steps) return false;
  const SchemaNode* node = root_.get();
  for (const std::string& step : *steps) {
    if (!node || node->types != type_object) return false;
    if (!std::binary_search(node->required.begin(), node->required.end(), step)) return false;
    node = node->find(step);
  }
  return true;
}

bool ArgumentSchema::knows(std::string_view pointer) const {
  const auto steps = split_pointer(pointer);
  if (!steps) return false;
  const SchemaNode* node = root_.get();
  for (const std::string& step : *steps) {
    if (!node) return false;
    const bool is_index = !step.empty() && step.find_first_not_of("0123456789") == std::string::npos;
    const SchemaNode* next = node->find(step);
    node = next || !is_index ? next : node->items.get();
  }
  return node != nullptr;
}

std::vector<std::string> ArgumentSchema::properties() const {
  std::vector<std::string> names;
  if (root_)
    for (const auto& [name, schema] : root_->properties)
      names.push_back(name);
  return names;
}

}  // namespace ratchet
