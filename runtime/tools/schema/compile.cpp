#include "runtime/tools/schema/compile.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/json/dom.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"
#include "runtime/tools/schema/in_place.hpp"
#include "runtime/tools/schema/problem.hpp"
#include "runtime/tools/schema/references.hpp"

namespace ratchet::schema {

namespace {

using boost::json::value;

constexpr std::string_view dialect_2020 = "https://json-schema.org/draft/2020-12/schema";
constexpr std::string_view dialect_7 = "http://json-schema.org/draft-07/schema";

/// What has another name or another form in 2020-12.
constexpr std::pair<std::string_view, std::string_view> other_forms[] = {
    {"additionalItems", "write the first items as prefixItems and the others as items"},
    {"dependencies", "write dependentRequired or dependentSchemas"},
    {"nullable", "add \"null\" to the type"},
    {"$recursiveRef", "write $ref"},
    {"$recursiveAnchor", "write $ref"},
    {"id", "write $id at the root"},
};

/// What may stand beside `$ref` in draft-07, which ignores all that would be checked there.
constexpr std::string_view beside_ref[] = {"$ref",
                                           "$schema",
                                           "$id",
                                           "$comment",
                                           "$defs",
                                           "definitions",
                                           "title",
                                           "description",
                                           "default",
                                           "examples",
                                           "deprecated",
                                           "readOnly",
                                           "writeOnly"};

template <class Rules>
Rules& part(std::unique_ptr<Rules>& of) {
  if (!of) of = std::make_unique<Rules>();
  return *of;
}

class Compiler {
 public:
  explicit Compiler(const value& document) : document_(document), references_(document) {}

  Result<std::shared_ptr<const Graph>> run() {
    schema(document_);
    if (!problem_) references_.resolve(problem_);
    if (!problem_)
      if (auto text = in_place_problem(*graph_); !text.empty()) refuse(document_, std::move(text));
    if (problem_) return tl::unexpected(problem_.error(document_));
    return graph_;
  }

 private:
  using N = Node;
  using V = const value;
  using Read = void (*)(Compiler&, Node&, const value&);

  struct Keyword {
    std::string_view name;
    Read read;
    bool is_new = false;  ///< since draft-07, which ignores it
  };

  static const Keyword keywords[];

  void refuse(const value& at, std::string text) {
    problem_.set(at, ErrorCode::invalid_definition, std::move(text));
  }

  void not_supported(const value& at, std::string text) {
    problem_.set(at, ErrorCode::not_supported, std::move(text));
  }

  bool expect(bool is_expected, const value& given, std::string_view what) {
    if (!is_expected) refuse(given, fmt::format("expected {}, found {}", what, kind_name(given)));
    return is_expected;
  }

  bool string(const value& given) { return expect(given.is_string(), given, "a string"); }

  bool array(const value& given) { return expect(given.is_array(), given, "an array"); }

  bool object(const value& given) { return expect(given.is_object(), given, "an object"); }

  bool boolean(const value& given) { return expect(given.is_bool(), given, "true or false"); }

  Child schema(const value& given);
  void members(Node& node, const boost::json::object& given);
  void keyword(Node& node, std::string_view key, const value& given);
  std::vector<Child> schemas(const value& given);

  std::optional<Number> number(const value& given) {
    if (!expect(given.is_number(), given, "a number")) return std::nullopt;
    return number_of(given);
  }

  std::optional<std::uint64_t> count(const value& given) {
    if (given.is_int64() && given.get_int64() >= 0) return static_cast<std::uint64_t>(given.get_int64());
    if (given.is_uint64()) return given.get_uint64();
    refuse(given, "expected an integer that is not negative");
    return std::nullopt;
  }

  std::vector<std::string> names(const value& given) {
    std::vector<std::string> names;
    if (!array(given)) return names;
    for (const auto& name : given.get_array())
      if (string(name)) names.emplace_back(name.get_string());
    std::sort(names.begin(), names.end());
    return names;
  }

  std::optional<Pattern> pattern(std::string_view text, const value& at) {
    if (++patterns_ > limits::schema_patterns_max) {
      refuse(at, fmt::format("more than {} patterns", limits::schema_patterns_max));
      return std::nullopt;
    }
    auto compiled = compile_ecma_pattern(text);
    if (compiled) return std::move(*compiled);
    problem_.set(at, compiled.error().code, compiled.error().text);
    return std::nullopt;
  }

  bool is_of_root(std::string_view keyword, const value& given) const {
    return document_.is_object() && document_.get_object().if_contains(keyword) == &given;
  }

  void dialect(const value& given);
  void id(const value& given);
  void anchor(const value& given, Child node);
  void type(Node& node, const value& given);
  void properties(Node& node, const value& given);
  void pattern_properties(Node& node, const value& given);
  void dependencies(Node& node, const value& given, bool are_schemas);
  void definitions(const value& given);
  void multiple_of(Node& node, const value& given);
  void none(Node& node, const value& given);
  std::unique_ptr<Choices> choices(const boost::json::array& given);

  void reference(const value& given, Child& from) {
    if (string(given)) references_.add(given, from);
  }

  const value& document_;
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  References references_;
  Problem problem_;
  std::size_t patterns_ = 0;
  bool is_draft_7_ = false;
};

const Compiler::Keyword Compiler::keywords[] = {
    // core
    {"$schema", [](Compiler&, N&, V&) {}},  // these two: `members`
    {"$id", [](Compiler&, N&, V&) {}},
    {"$ref", [](Compiler& c, N& n, V& v) { c.reference(v, part(n.in_place).ref); }},
    {"$dynamicRef", [](Compiler& c, N& n, V& v) { c.reference(v, part(n.in_place).dynamic_ref); }, true},
    {"$anchor", [](Compiler& c, N& n, V& v) { c.anchor(v, &n); }, true},
    {"$dynamicAnchor", [](Compiler& c, N& n, V& v) { c.anchor(v, &n); }, true},
    {"$defs", [](Compiler& c, N&, V& v) { c.definitions(v); }},
    {"definitions", [](Compiler& c, N&, V& v) { c.definitions(v); }},
    {"$comment", [](Compiler& c, N&, V& v) { c.string(v); }},
    // applicator and unevaluated
    {"allOf", [](Compiler& c, N& n, V& v) { part(n.in_place).all = c.schemas(v); }},
    {"anyOf", [](Compiler& c, N& n, V& v) { part(n.in_place).any = c.schemas(v); }},
    {"oneOf", [](Compiler& c, N& n, V& v) { part(n.in_place).one = c.schemas(v); }},
    {"not", [](Compiler& c, N& n, V& v) { c.none(n, v); }},
    {"if", [](Compiler& c, N& n, V& v) { part(n.in_place).condition = c.schema(v); }},
    {"then", [](Compiler& c, N& n, V& v) { part(n.in_place).consequence = c.schema(v); }},
    {"else", [](Compiler& c, N& n, V& v) { part(n.in_place).alternative = c.schema(v); }},
    {"dependentSchemas", [](Compiler& c, N& n, V& v) { c.dependencies(n, v, true); }, true},
    {"prefixItems", [](Compiler& c, N& n, V& v) { part(n.array).prefix = c.schemas(v); }, true},
    {"items",
     [](Compiler& c, N& n, V& v) {
       if (v.is_array()) return c.refuse(v, "expected one schema; schemas of the first items are prefixItems");
       part(n.array).items = c.schema(v);
     }},
    {"contains", [](Compiler& c, N& n, V& v) { part(n.array).contains = c.schema(v); }},
    {"properties", [](Compiler& c, N& n, V& v) { c.properties(n, v); }},
    {"patternProperties", [](Compiler& c, N& n, V& v) { c.pattern_properties(n, v); }},
    {"additionalProperties", [](Compiler& c, N& n, V& v) { part(n.object).additional = c.schema(v); }},
    {"propertyNames", [](Compiler& c, N& n, V& v) { part(n.object).names = c.schema(v); }},
    {"unevaluatedItems", [](Compiler& c, N& n, V& v) { part(n.array).unevaluated = c.schema(v); }, true},
    {"unevaluatedProperties",
     [](Compiler& c, N& n, V& v) { part(n.object).unevaluated = c.schema(v); },
     true},
    // validation
    {"type", [](Compiler& c, N& n, V& v) { c.type(n, v); }},
    {"enum",
     [](Compiler& c, N& n, V& v) {
       if (!c.array(v)) return;
       if (v.get_array().empty()) return c.refuse(v, "expected at least one value");
       n.choices = c.choices(v.get_array());
     }},
    {"const", [](Compiler& c, N& n, V& v) { n.constant = c.choices(boost::json::array(1, v)); }},
    {"multipleOf", [](Compiler& c, N& n, V& v) { c.multiple_of(n, v); }},
    {"minimum", [](Compiler& c, N& n, V& v) { part(n.number).minimum = c.number(v); }},
    {"maximum", [](Compiler& c, N& n, V& v) { part(n.number).maximum = c.number(v); }},
    {"exclusiveMinimum", [](Compiler& c, N& n, V& v) { part(n.number).exclusive_minimum = c.number(v); }},
    {"exclusiveMaximum", [](Compiler& c, N& n, V& v) { part(n.number).exclusive_maximum = c.number(v); }},
    {"minLength", [](Compiler& c, N& n, V& v) { part(n.string).length.min = c.count(v); }},
    {"maxLength", [](Compiler& c, N& n, V& v) { part(n.string).length.max = c.count(v); }},
    {"pattern",
     [](Compiler& c, N& n, V& v) {
       if (c.string(v)) part(n.string).pattern = c.pattern(v.get_string(), v);
     }},
    {"minItems", [](Compiler& c, N& n, V& v) { part(n.array).size.min = c.count(v); }},
    {"maxItems", [](Compiler& c, N& n, V& v) { part(n.array).size.max = c.count(v); }},
    {"uniqueItems",
     [](Compiler& c, N& n, V& v) {
       if (c.boolean(v)) part(n.array).unique = v.get_bool();
     }},
    {"minContains", [](Compiler& c, N& n, V& v) { part(n.array).contained.min = c.count(v); }, true},
    {"maxContains", [](Compiler& c, N& n, V& v) { part(n.array).contained.max = c.count(v); }, true},
    {"required", [](Compiler& c, N& n, V& v) { part(n.object).required = c.names(v); }},
    {"minProperties", [](Compiler& c, N& n, V& v) { part(n.object).size.min = c.count(v); }},
    {"maxProperties", [](Compiler& c, N& n, V& v) { part(n.object).size.max = c.count(v); }},
    {"dependentRequired", [](Compiler& c, N& n, V& v) { c.dependencies(n, v, false); }, true},
    // annotations: of the right type, and without effect
    {"title", [](Compiler& c, N&, V& v) { c.string(v); }},
    {"description", [](Compiler& c, N&, V& v) { c.string(v); }},
    {"default", [](Compiler&, N&, V&) {}},
    {"examples", [](Compiler&, N&, V&) {}},
    {"deprecated", [](Compiler& c, N&, V& v) { c.boolean(v); }},
    {"readOnly", [](Compiler& c, N&, V& v) { c.boolean(v); }},
    {"writeOnly", [](Compiler& c, N&, V& v) { c.boolean(v); }},
    {"format", [](Compiler& c, N&, V& v) { c.string(v); }},
    {"contentEncoding", [](Compiler& c, N&, V& v) { c.string(v); }},
    {"contentMediaType", [](Compiler& c, N&, V& v) { c.string(v); }},
    {"contentSchema", [](Compiler& c, N&, V& v) { (void)c.schema(v); }},
};

Child Compiler::schema(const value& given) {
  if (problem_) return nullptr;
  if (graph_->nodes.size() == limits::schema_nodes_max) {
    refuse(given, fmt::format("more than {} schemas", limits::schema_nodes_max));
    return nullptr;
  }
  Node& node = graph_->nodes.emplace_back();
  references_.add_schema(given, &node);
  if (given.is_bool()) {
    node.never = !given.get_bool();
  } else if (expect(given.is_object(), given, "a schema")) {
    members(node, given.get_object());
  }
  return &node;
}

void Compiler::members(Node& node, const boost::json::object& given) {
  // These go before what they change.
  if (const auto* named = given.if_contains("$schema")) dialect(*named);
  if (const auto* named = given.if_contains("$id")) id(*named);
  if (is_draft_7_ && given.contains("$ref"))
    for (const auto& [key, member] : given)
      if (std::find(std::begin(beside_ref), std::end(beside_ref), std::string_view(key)) ==
          std::end(beside_ref))
        not_supported(
            member,
            fmt::format("draft-07, which $schema names, ignores '{}' beside $ref; put both into allOf",
                        std::string_view(key).substr(0, utf8_cut(key, 60))));
  for (const auto& [key, member] : given) {
    if (problem_) return;
    keyword(node, key, member);
  }
}

void Compiler::keyword(Node& node, std::string_view key, const value& given) {
  const auto found = std::find_if(
      std::begin(keywords), std::end(keywords), [&](const Keyword& each) { return each.name == key; });
  if (found != std::end(keywords)) {
    if (is_draft_7_ && found->is_new)
      return not_supported(given, fmt::format("draft-07, which $schema names, ignores '{}'", key));
    return found->read(*this, node, given);
  }
  if (key.starts_with("x-")) return;  // by convention an annotation
  for (const auto& [name, hint] : other_forms)
    if (name == key)
      return not_supported(given, fmt::format("'{}' is not a keyword of JSON Schema 2020-12: {}", key, hint));
  not_supported(given,
                fmt::format("the JSON Schema keyword '{}' is not checked by this version",
                            key.substr(0, utf8_cut(key, 60))));
}

std::vector<Child> Compiler::schemas(const value& given) {
  std::vector<Child> children;
  if (!array(given)) return children;
  if (given.get_array().empty()) refuse(given, "expected at least one schema");
  for (const auto& each : given.get_array())
    children.push_back(schema(each));
  return children;
}

void Compiler::dialect(const value& given) {
  if (!string(given)) return;
  if (!is_of_root("$schema", given)) return not_supported(given, "$schema is taken at the root only");
  std::string_view named(given.get_string());
  if (named.ends_with('#')) named.remove_suffix(1);
  is_draft_7_ = is_draft_7_ || named == dialect_7 || named == "https://json-schema.org/draft-07/schema";
  if (named != dialect_2020 && named != dialect_7 && !is_draft_7_)
    not_supported(given,
                  fmt::format("the dialect {} is not checked by this version; {} is, and {}",
                              named.substr(0, utf8_cut(named, 100)),
                              dialect_2020,
                              dialect_7));
}

void Compiler::id(const value& given) {
  if (!string(given)) return;
  std::string_view id(given.get_string());
  if (!is_of_root("$id", given))
    return not_supported(given, "$id is taken at the root only: no document is put into another one");
  if (id.ends_with('#')) id.remove_suffix(1);
  if (id.find('#') != std::string_view::npos)
    return refuse(given, "$id has no fragment; $anchor names a place");
  references_.set_id(id);
}

void Compiler::anchor(const value& given, Child node) {
  if (!string(given)) return;
  const std::string_view name(given.get_string());
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto may_follow = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  if (name.empty() || !is_letter(name.front()) || !std::all_of(name.begin(), name.end(), may_follow))
    return refuse(given, "expected a letter or _, then letters, digits, _, - and .");
  if (!references_.add_anchor(name, node))
    refuse(given, fmt::format("there is an anchor {} already", name.substr(0, 60)));
}

void Compiler::type(Node& node, const value& given) {
  const auto add = [&](const value& word) {
    for (const auto& [type, name, phrase] : type_names) {
      if (!word.is_string() || std::string_view(word.get_string()) != name) continue;
      if (node.types & type) refuse(given, fmt::format("the type {} comes twice", name));
      node.types |= type;
      return;
    }
    refuse(given, "expected null, boolean, object, array, number, string or integer");
  };
  if (!given.is_array()) return add(given);
  if (given.get_array().empty()) refuse(given, "expected at least one type");
  for (const auto& word : given.get_array())
    add(word);
}

void Compiler::properties(Node& node, const value& given) {
  if (!object(given)) return;
  auto& properties = part(node.object).properties;
  for (const auto& [name, each] : given.get_object())
    properties.emplace_back(name, schema(each));
  std::sort(
      properties.begin(), properties.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
}

void Compiler::pattern_properties(Node& node, const value& given) {
  if (!object(given)) return;
  for (const auto& [text, each] : given.get_object())
    if (auto compiled = pattern(text, each))
      part(node.object).patterns.emplace_back(std::move(*compiled), schema(each));
}

void Compiler::dependencies(Node& node, const value& given, bool are_schemas) {
  if (!object(given)) return;
  for (const auto& [name, each] : given.get_object()) {
    ObjectRules::Dependency dependency{std::string(name), {}, nullptr};
    if (are_schemas) {
      dependency.schema = schema(each);
    } else {
      dependency.required = names(each);
    }
    part(node.object).dependencies.push_back(std::move(dependency));
  }
}

void Compiler::definitions(const value& given) {
  if (!object(given)) return;
  for (const auto& [name, each] : given.get_object())
    (void)schema(each);
}

void Compiler::multiple_of(Node& node, const value& given) {
  const auto unit = number(given);
  if (unit && *unit <= 0) refuse(given, "expected a number above 0");
  if (unit && !problem_) part(node.number).multiple_of = decimal_of(given);
}

void Compiler::none(Node& node, const value& given) {
  part(node.in_place).none = schema(given);
  std::string text;
  append_json(text, given);
  node.in_place->none_text = text.substr(0, utf8_cut(text, 120)) + (text.size() > 120 ? "…" : "");
}

std::unique_ptr<Choices> Compiler::choices(const boost::json::array& given) {
  auto choices = std::make_unique<Choices>();
  choices->values.assign(given.begin(), given.end());
  for (const auto& choice : given) {
    if (!choices->text.empty()) choices->text += ", ";
    append_json(choices->text, choice);
  }
  std::size_t steps = 0;
  std::sort(choices->values.begin(), choices->values.end(), [&](const value& a, const value& b) {
    return compare_values(a, b, steps) < 0;
  });
  return choices;
}

}  // namespace

Child ObjectRules::find(std::string_view property) const {
  const auto at = std::lower_bound(
      properties.begin(), properties.end(), property, [](const auto& each, std::string_view name) {
        return each.first < name;
      });
  return at != properties.end() && at->first == property ? at->second : nullptr;
}

Result<std::shared_ptr<const Graph>> compile(const value& document) {
  return Compiler(document).run();
}

}  // namespace ratchet::schema
