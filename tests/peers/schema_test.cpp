// Argument schemas against what others say of them: the public test suite of JSON Schema 2020-12, whose every
// schema is either judged as it expects or refused for a reason given here; and ajv, on random schemas.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include "runtime/json/dom.hpp"
#include "runtime/tools/schema/check.hpp"
#include "runtime/tools/schema/compile.hpp"
#include "tests/peers/node_process.hpp"

namespace ratchet {
namespace {

using boost::json::value;

const std::filesystem::path suite = RATCHET_SOURCE_DIR "/tests/peers/json_schema_suite/tests/draft2020-12";

/// As an argument reaches the check: in canonical form.
Result<value> canonical(const value& given) {
  return parse_json(boost::json::serialize(given));
}

Result<std::shared_ptr<const schema::Graph>> compile(const value& given) {
  const auto document = canonical(given);
  if (!document) return tl::unexpected(document.error());
  return schema::compile(*document);
}

std::string_view text(const value& of, std::string_view member) {
  return of.at(member).get_string();
}

// Why a schema may be refused at registration.
constexpr std::string_view elsewhere = "refers to another document";
constexpr std::string_view within = "puts a document with an $id of its own into another one";
constexpr std::string_view dialect = "names a dialect of its own in $schema";
constexpr std::string_view unknown = "has a keyword that no vocabulary has";
constexpr std::string_view older = "has a keyword of older drafts, which 2020-12 ignores";
constexpr std::string_view category = "has \\p{digit}, which neither ECMA-262 nor RE2 has";
constexpr std::string_view digits = "has an integer that a double would change, as no argument may";

/// The groups of the suite, "file: group", whose schemas are refused: these and no others.
const std::map<std::string, std::string_view, std::less<>> refused = {
    {"anchor: Location-independent identifier with absolute URI", within},
    {"anchor: Location-independent identifier with base URI change in subschema", within},
    {"anchor: invalid anchors", elsewhere},
    {"anchor: same $anchor with different base uri", within},
    {"defs: validate definition against metaschema", elsewhere},
    {"dynamicRef: $ref and $dynamicAnchor are independent of order - $defs first", elsewhere},
    {"dynamicRef: $ref and $dynamicAnchor are independent of order - $ref first", elsewhere},
    {"dynamicRef: A $dynamicRef resolves to the first $dynamicAnchor still in scope that is encountered when "
     "the schema is evaluated",
     within},
    {"dynamicRef: A $dynamicRef that initially resolves to a schema with a matching $dynamicAnchor resolves "
     "to the first $dynamicAnchor in the dynamic scope",
     within},
    {"dynamicRef: A $dynamicRef that initially resolves to a schema without a matching $dynamicAnchor "
     "behaves like a normal $ref to $anchor",
     within},
    {"dynamicRef: A $dynamicRef with a non-matching $dynamicAnchor in the same schema resource behaves like "
     "a normal $ref to $anchor",
     within},
    {"dynamicRef: A $dynamicRef with intermediate scopes that don't include a matching $dynamicAnchor does "
     "not affect dynamic scope resolution",
     within},
    {"dynamicRef: A $dynamicRef without a matching $dynamicAnchor in the same schema resource behaves like a "
     "normal $ref to $anchor",
     within},
    {"dynamicRef: A $dynamicRef without anchor in fragment behaves identical to $ref", within},
    {"dynamicRef: An $anchor with the same name as a $dynamicAnchor is not used for dynamic scope resolution",
     within},
    {"dynamicRef: after leaving a dynamic scope, it is not used by a $dynamicRef", within},
    {"dynamicRef: multiple dynamic paths to the $dynamicRef keyword", within},
    {"dynamicRef: strict-tree schema, guards against misspelled properties", elsewhere},
    {"dynamicRef: tests for implementation dynamic anchor and reference link", elsewhere},
    {"id: $id inside an enum is not a real identifier", within},
    {"id: Invalid use of fragments in location-independent $id", elsewhere},
    {"id: Unnormalized $ids are allowed but discouraged", elsewhere},
    {"id: Valid use of empty fragments in location-independent $id", elsewhere},
    {"optional/bignum: maximum integer comparison", digits},
    {"optional/cross-draft: refs to historic drafts are processed as historic drafts", elsewhere},
    {"optional/dependencies-compatibility: boolean subschemas", older},
    {"optional/dependencies-compatibility: dependencies with escaped characters", older},
    {"optional/dependencies-compatibility: empty dependents", older},
    {"optional/dependencies-compatibility: multiple dependents required", older},
    {"optional/dependencies-compatibility: schema dependencies with escaped characters", older},
    {"optional/dependencies-compatibility: single dependency", older},
    {"optional/dependencies-compatibility: single schema dependency", older},
    {"optional/ecmascript-regex: \\a is not an ECMA 262 control escape", elsewhere},
    {"optional/ecmascript-regex: pattern with non-ASCII digits", category},
    {"optional/ecmascript-regex: patternProperties with non-ASCII digits", category},
    {"optional/format-assertion: schema that uses custom metaschema with format-assertion: false", dialect},
    {"optional/format-assertion: schema that uses custom metaschema with format-assertion: true", dialect},
    {"optional/refOfUnknownKeyword: reference of a root arbitrary keyword ", unknown},
    {"optional/refOfUnknownKeyword: reference of an arbitrary keyword of a sub-schema", unknown},
    {"ref: $id must be resolved against nearest parent, not just immediate parent", within},
    {"ref: Recursive references between schemas", within},
    {"ref: URN base URI with f-component", elsewhere},
    {"ref: URN ref with nested pointer ref", within},
    {"ref: order of evaluation: $id and $anchor and $ref", within},
    {"ref: order of evaluation: $id and $ref", within},
    {"ref: ref to else", within},
    {"ref: ref to if", within},
    {"ref: ref to then", within},
    {"ref: ref with absolute-path-reference", within},
    {"ref: refs with relative uris and defs", within},
    {"ref: relative refs with absolute uris and defs", within},
    {"ref: remote ref, containing refs itself", elsewhere},
    {"refRemote: Location-independent identifier in remote ref", elsewhere},
    {"refRemote: anchor within remote ref", elsewhere},
    {"refRemote: base URI change", within},
    {"refRemote: base URI change - change folder", within},
    {"refRemote: base URI change - change folder in subschema", within},
    {"refRemote: fragment within remote ref", elsewhere},
    {"refRemote: ref within remote ref", elsewhere},
    {"refRemote: remote HTTP ref with different $id", elsewhere},
    {"refRemote: remote HTTP ref with different URN $id", elsewhere},
    {"refRemote: remote HTTP ref with nested absolute ref", elsewhere},
    {"refRemote: remote ref", elsewhere},
    {"refRemote: remote ref with ref to defs", elsewhere},
    {"refRemote: retrieved nested refs resolve relative to their URI not $id", elsewhere},
    {"refRemote: root ref in remote ref", elsewhere},
    {"unknownKeyword: $id inside an unknown keyword is not a real identifier", unknown},
    {"vocabulary: ignore unrecognized optional vocabulary", dialect},
    {"vocabulary: schema that uses custom metaschema with with no validation vocabulary", dialect},
};

void judge(const std::string& file, const value& group, std::set<std::string>& seen) {
  const std::string name = file + ": " + std::string(text(group, "description"));
  const auto graph = compile(group.at("schema"));
  if (!graph) {
    const auto known = refused.find(name);
    EXPECT_NE(known, refused.end()) << name << " is refused: " << graph.error().text << "\n"
                                    << group.at("schema");
    const bool is_number = known != refused.end() && known->second == digits;
    EXPECT_EQ(graph.error().code, is_number ? ErrorCode::invalid_json : ErrorCode::not_supported) << name;
    seen.insert(name);
    return;
  }
  for (const auto& test : group.at("tests").get_array()) {
    const auto given = canonical(test.at("data"));
    ASSERT_TRUE(given) << name << ": " << given.error().text;
    const auto fault = schema::check(**graph, *given, schema::Values::quoted);
    EXPECT_EQ(!fault, test.at("valid").get_bool()) << name << ": " << text(test, "description") << "\n"
                                                   << group.at("schema") << "\n"
                                                   << test.at("data") << "\n"
                                                   << fault.value_or("fits");
    EXPECT_NE(fault, "the arguments do not fit the schema") << name << ": there are no words for this fault";
  }
}

TEST(SchemaSuite, IsJudgedAsExpectedOrRefusedForAReason) {
  if (!std::filesystem::exists(suite))
    GTEST_SKIP() << suite
                 << " is not there: ./dev test fetches it (Debian's libtest-json-schema-acceptance-perl)";
  std::set<std::string> seen;
  std::size_t files = 0;
  for (const auto& folder : {suite, suite / "optional"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".json") continue;
      std::stringstream content;
      content << std::ifstream(entry.path()).rdbuf();
      ++files;
      const auto groups = boost::json::parse(content.str());
      for (const auto& group : groups.get_array())
        judge(entry.path().lexically_relative(suite).replace_extension().string(), group, seen);
    }
  }
  EXPECT_GT(files, 40u);
  for (const auto& [name, reason] : refused)
    EXPECT_TRUE(seen.contains(name)) << name << " is no longer refused (" << reason << ")";
}

TEST(SchemaPeer, AgreesWithAjvOnRandomSchemas) {
  if (const auto missing = tests::peers_missing(); !missing.empty()) GTEST_SKIP() << missing;
  constexpr int schemas = 600;
  const auto output = tests::printed_by_node({"schema_cases.mjs", std::to_string(schemas), "1"});
  std::istringstream lines(output);
  int read = 0;
  std::size_t fitting = 0, values = 0;
  for (std::string line; std::getline(lines, line); ++read) {
    const auto parsed = boost::json::parse(line);
    const auto& [schema, given, verdicts] =
        std::tie(parsed.at(0), parsed.at(1).get_array(), parsed.at(2).get_array());
    const auto graph = compile(schema);
    ASSERT_TRUE(graph) << schema << "\n" << graph.error().text;
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (verdicts[i].is_null()) continue;
      const auto fault = schema::check(**graph, *canonical(given[i]), schema::Values::quoted);
      EXPECT_EQ(!fault, verdicts[i].get_bool()) << schema << "\n"
                                                << given[i] << "\n"
                                                << fault.value_or("fits");
      EXPECT_NE(fault, "the arguments do not fit the schema") << schema << "\n" << given[i];
      ++values;
      fitting += fault ? 0 : 1;
    }
  }
  EXPECT_EQ(read, schemas);
  EXPECT_GT(fitting, values / 5);
  EXPECT_LT(fitting, values / 5 * 4);
}

}  // namespace
}  // namespace ratchet
