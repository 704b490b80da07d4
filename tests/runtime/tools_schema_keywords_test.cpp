// What JSON Schema 2020-12 combines: references, forms, conditions, what nothing has looked at. Verdicts are
// held by the public suite (tests/peers); here are the words, which a model has to understand.

#include <gtest/gtest.h>

#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"
#include "runtime/tools/schema.hpp"

namespace ratchet {
namespace {

struct Case {
  std::string_view schema, args, expected;
};

std::string verdict(std::string_view schema, std::string_view args) {
  const auto compiled = ArgumentSchema::compile(R"({"type":"object",)" + std::string(schema) + "}");
  if (!compiled) return compiled.error().pointer + ": " + compiled.error().text;
  return compiled->check(args).value_or("ok");
}

void expect(std::initializer_list<Case> cases) {
  for (const auto& [schema, args, expected] : cases)
    EXPECT_EQ(verdict(schema, args), expected) << schema << " with " << args;
}

TEST(SchemaKeywords, FollowReferencesWithinTheDocument) {
  constexpr std::string_view tree =
      R"("properties":{"t":{"$ref":"#/$defs/tree"}},"$defs":{"tree":{"type":"object","required":["v"],
         "properties":{"v":{"type":"integer"},"below":{"items":{"$ref":"#/$defs/tree"}}}}})";
  expect({
      {tree, R"({"t":{"v":1,"below":[{"v":2,"below":[]}]}})", "ok"},
      {tree,
       R"({"t":{"v":1,"below":[{"v":2,"below":[{}]}]}})",
       "/t/below/0/below/0: the property v is required (an integer)"},
      {R"("required":["p"],"properties":{"p":{"$ref":"#/definitions/a~1b%25"}},"definitions":{"a/b%":{"type":"null"}})",
       "{}",
       "the arguments: the property p is required (null)"},
      {R"("properties":{"p":{"$ref":"#here"}},"$defs":{"x":{"$anchor":"here","const":1}})",
       R"({"p":2})",
       "/p: expected 1, found 2"},
      {R"("properties":{"p":{"$dynamicRef":"#here"}},"$defs":{"x":{"$dynamicAnchor":"here","const":1}})",
       R"({"p":2})",
       "/p: expected 1, found 2"},
      {R"("$id":"https://a.example/s","properties":{"p":{"$ref":"https://a.example/s#/$defs/x"}},
          "$defs":{"x":{"const":1}})",
       R"({"p":2})",
       "/p: expected 1, found 2"},
      {R"("properties":{"p":{"$ref":"#/properties/q","minimum":2},"q":{"type":"integer"}})",
       R"({"p":1})",
       "/p: expected a number of at least 2, found 1"},
  });
}

TEST(SchemaKeywords, RefuseReferencesThatLeadNowhereOrElsewhere) {
  expect({
      {R"("$ref":"https://json-schema.org/draft/2020-12/schema")",
       "{}",
       "/$ref: https://json-schema.org/draft/2020-12/schema is in another document; only references within "
       "this "
       "one, beginning with #, are followed"},
      {R"("properties":{"p":{"$ref":"#/$defs/x"}})",
       "{}",
       "/properties/p/$ref: #/$defs/x leads to no schema of this document"},
      {R"("properties":{"p":{"$ref":"#/required"}},"required":[])",
       "{}",
       "/properties/p/$ref: #/required leads to no schema of this document"},
      {R"("properties":{"p":{"$id":"q"}})",
       "{}",
       "/properties/p/$id: $id is taken at the root only: no document is put into another one"},
      {R"("$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}})",
       "{}",
       "/$defs/b/$anchor: there is an anchor x already"},
      {R"("$ref":"#")", "{}", ": a schema refers to itself for the same value, without end"},
      {R"("$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}})",
       "{}",
       ": a schema refers to itself for the same value, without end"},
  });
}

TEST(SchemaKeywords, TakeDraft7WhereItMeansTheSame) {
  constexpr std::string_view draft_7 = R"("$schema":"http://json-schema.org/draft-07/schema#",)";
  const auto of = [&](std::string_view rest, std::string_view args) {
    return verdict(std::string(draft_7) + std::string(rest), args);
  };
  EXPECT_EQ(
      of(R"("properties":{"p":{"$ref":"#/definitions/x","description":"d"}},"definitions":{"x":{"const":1}})",
         R"({"p":2})"),
      "/p: expected 1, found 2");
  EXPECT_EQ(of(R"("properties":{"p":{"$ref":"#/definitions/x","minimum":1}},"definitions":{"x":{}})", "{}"),
            "/properties/p/minimum: draft-07, which $schema names, ignores 'minimum' beside $ref; put both "
            "into allOf");
  EXPECT_EQ(of(R"("properties":{"p":{"prefixItems":[{}]}})", "{}"),
            "/properties/p/prefixItems: draft-07, which $schema names, ignores 'prefixItems'");
  EXPECT_EQ(of(R"("properties":{"p":{"items":[{}]}})", "{}"),
            "/properties/p/items: expected one schema; schemas of the first items are prefixItems");
  EXPECT_EQ(verdict(R"("$schema":"http://json-schema.org/draft-04/schema#")", "{}"),
            "/$schema: the dialect http://json-schema.org/draft-04/schema is not checked by this version; "
            "https://json-schema.org/draft/2020-12/schema is, and http://json-schema.org/draft-07/schema");
}

TEST(SchemaKeywords, SayWhichFormComesNearest) {
  constexpr std::string_view shapes =
      R"("properties":{"s":{"oneOf":[
          {"type":"object","required":["kind","r"],"properties":{"kind":{"const":"circle"},"r":{"type":"number"}}},
          {"type":"object","required":["kind","w"],"properties":{"kind":{"const":"box"},"w":{"type":"number"}}},
          {"type":"null"}]}})";
  expect({
      {R"("properties":{"p":{"anyOf":[{"type":"string"},{"type":"null"}]}})",
       R"({"p":1})",
       "/p: expected a string or null, found 1"},
      {R"("properties":{"p":{"anyOf":[{"const":"a"},{"const":"b"},{"$ref":"#/$defs/n"}]}},"$defs":{"n":{"type":"null"}})",
       R"({"p":1})",
       R"(/p: expected "a" or "b" or null, found 1)"},
      {shapes, R"({"s":{"kind":"box","w":1}})", "ok"},
      {shapes,
       R"({"s":{"kind":"box","w":"1"}})",
       R"(/s: fits none of 3 forms; the nearest is missed by: /s/w: expected a number, found the string "1")"},
      {shapes,
       R"({"s":{"kind":"circle"}})",
       "/s: fits none of 3 forms; the nearest is missed by: /s: the property r is required (a number)"},
      {shapes, R"({"s":[]})", "/s: expected an object or null, found an array"},
      {R"("properties":{"p":{"oneOf":[{"type":"integer"},{"minimum":2},{}]}})",
       R"({"p":1})",
       "/p: fits two forms that exclude each other, number 1 and number 3 of 3"},
      {R"("not":{"required":["a","b"]})",
       R"({"a":1,"b":2})",
       R"(the arguments: must not fit {"required":["a","b"]})"},
      {R"("if":{"properties":{"m":{"const":"x"}},"required":["m"]},"then":{"required":["n"]},"else":{"required":["o"]})",
       R"({"m":"x"})",
       "the arguments: the property n is required (a value)"},
      {R"("if":{"properties":{"m":{"const":"x"}},"required":["m"]},"then":{"required":["n"]},"else":{"required":["o"]})",
       R"({"m":"y"})",
       "the arguments: the property o is required (a value)"},
      {R"("then":{"required":["n"]})", "{}", "ok"},
      {R"("allOf":[{"required":["a"]},{"required":["a"]}])",
       "{}",
       "the arguments: the property a is required (a value)"},
  });
}

TEST(SchemaKeywords, SpeakOfObjects) {
  expect({
      {R"("minProperties":2)", R"({"a":1})", "the arguments: expected at least 2 properties, found 1"},
      {R"("patternProperties":{"^x":{"type":"null"}},"additionalProperties":false,"properties":{"a":{}})",
       R"({"x1":null,"a":1})",
       "ok"},
      {R"("patternProperties":{"^x":{"type":"null"}},"additionalProperties":false,"properties":{"a":{}})",
       R"({"x1":1,"y":1})",
       "/x1: expected null, found 1; the arguments: there is no property y; known are a"},
      {R"("propertyNames":{"pattern":"^[a-z]+$"})",
       R"({"A":1})",
       "the arguments: the property A has a name that is not allowed (expected a match of the pattern "
       "^[a-z]+$)"},
      {R"("dependentRequired":{"a":["b"]},"properties":{"b":{"type":"string"}})",
       R"({"a":1})",
       "the arguments: the property b is required where a is (a string)"},
      {R"("dependentSchemas":{"a":{"properties":{"b":{"const":1}}}})",
       R"({"a":1,"b":2})",
       "/b: expected 1, found 2"},
      {R"("allOf":[{"properties":{"a":{"type":"null"}}}],"properties":{"b":{}},"unevaluatedProperties":false)",
       R"({"a":1,"b":1,"c":1})",
       "/a: expected null, found 1; the arguments: there is no property c; known are a, b"},
      {R"("anyOf":[{"properties":{"a":{"const":1}},"required":["a"]},{"properties":{"b":{}}}],
          "unevaluatedProperties":{"type":"string"})",
       R"({"a":2,"b":2})",
       "/a: expected a string, found 2"},
  });
}

TEST(SchemaKeywords, SpeakOfArrays) {
  const auto p = [](std::string_view schema) {
    return R"("properties":{"p":{)" + std::string(schema) + "}}";
  };
  const std::string prefix = p(R"("prefixItems":[{"type":"string"}],"items":false)");
  const std::string contains = p(R"("contains":{"type":"null"},"maxContains":1)");
  const std::string rest = p(R"("prefixItems":[{}],"contains":{"const":1},"unevaluatedItems":false)");
  const std::string unique = p(R"("uniqueItems":true)");
  expect({
      {prefix, R"({"p":[1,2]})", "/p/0: expected a string, found 1; /p/1: is not allowed here"},
      {contains, R"({"p":[1]})", "/p: expected at least 1 fitting items (null), found 0"},
      {contains, R"({"p":[null,null]})", "/p: expected at most 1 fitting items (null), found 2"},
      {rest, R"({"p":[5,1,1]})", "ok"},
      {rest, R"({"p":[5,1,2]})", "/p/2: is not allowed here"},
      {unique, R"({"p":[1,true,"1",[1],{"a":1}]})", "ok"},
      {unique,
       R"({"p":[{"a":1,"b":2},7,{"b":2.0,"a":1}]})",
       "/p: expected items that all differ; number 0 and number 2 are equal"},
  });
}

TEST(SchemaKeywords, CountInDecimal) {
  const auto p = [](std::string_view schema) {
    return R"("properties":{"p":{)" + std::string(schema) + "}}";
  };
  const std::string tenth = p(R"("multipleOf":0.1)"), three = p(R"("multipleOf":3)");
  const std::string tiny = p(R"("multipleOf":1e-300)"), odd = p(R"("multipleOf":0.123456789)");
  expect({
      {tenth, R"({"p":0.3})", "ok"},
      {tenth, R"({"p":-1.1})", "ok"},
      {tenth, R"({"p":0.35})", "/p: expected a multiple of 0.1, found 0.35"},
      {tenth, R"({"p":1e300})", "ok"},
      {three, R"({"p":9007199254740990})", "ok"},
      {three, R"({"p":1e20})", "/p: expected a multiple of 3, found 100000000000000000000"},
      {three, R"({"p":1e-300})", "/p: expected a multiple of 3, found 1e-300"},
      {three, R"({"p":0})", "ok"},
      {tiny, R"({"p":1e300})", "ok"},
      {odd, R"({"p":1e308})", "/p: expected a multiple of 0.123456789, found 1e+308"},
      {p(R"("const":1.0)"), R"({"p":1})", "ok"},
      {p(R"("enum":[9007199254740992,"x"])"), R"({"p":9007199254740993.0})", "ok"},  // the same double
      {p(R"("exclusiveMaximum":0.1)"), R"({"p":0.1})", "/p: expected a number below 0.1, found 0.1"},
  });
}

TEST(SchemaKeywords, ReadPatternsAsEcmaScriptDoes) {
  const std::tuple<std::string_view, std::string_view, bool> cases[] = {
      {R"(^\\S+$)", R"(a\u00a0b)", false},
      {R"(^[\\s\\S]$)", R"(\u2028)", true},
      {R"(^[^\\S]$)", R"(\ufeff)", true},
      {R"(^.$)", R"(\u2028)", false},
      {R"(^.$)", "🔥", true},
      {R"(^\\u00e9\\uD83D\\uDD25\\u{1F525}\\x41\\cA$)", R"(é🔥🔥A\u0001)", true},
      {R"(^[^]$)", R"(\n)", true},
      {R"([])", "x", false},
      {R"(^[[:alpha:]]$)", ":]", true},
      {R"(^(?<year>\\d{4})$)", "2026", true},
      {R"(^\\p{Letter}\\p{Script=Greek}$)", "aα", true},
      {R"(a$)", R"(a\n)", false},
      {R"(^\\/\\-\\_$)", "/-_", true},
      {R"([\\b])", R"(\b)", true},
      {R"(\\0)", R"(\u0000)", true},
  };
  for (const auto& [pattern, text, matches] : cases)
    EXPECT_EQ(verdict(R"("properties":{"p":{"pattern":")" + std::string(pattern) + "\"}}",
                      R"({"p":")" + std::string(text) + "\"}") == "ok",
              matches)
        << pattern << " on " << text;
  for (const std::string_view pattern : {R"((?=a))",
                                         R"((?<!a))",
                                         R"((?i)a)",
                                         R"((a)\\1)",
                                         R"(\\Aa)",
                                         R"(a\\z)",
                                         R"(\\Qa)",
                                         R"(\\pL)",
                                         R"(\\u12)",
                                         R"(\\uD83D)",
                                         R"([\\B])",
                                         R"([)",
                                         R"(\\u{110000})",
                                         R"(\\07)",
                                         R"(a{2000})",
                                         R"((((a{100}){100}){100}))"})
    EXPECT_TRUE(verdict(R"("properties":{"p":{"pattern":")" + std::string(pattern) + "\"}}", "{}")
                    .starts_with("/properties/p/pattern: "))
        << pattern;
}

TEST(SchemaKeywords, PromiseOnlyWhatIsCertain) {
  const auto schema = *ArgumentSchema::compile(R"({"type":"object","required":["a"],
      "properties":{"a":{"$ref":"#/$defs/a"},"l":{"prefixItems":[{"properties":{"x":{}}}],"items":{"properties":{"y":{}}}}},
      "patternProperties":{"^z":{"properties":{"w":{}}}},
      "allOf":[{"required":["b"]}],
      "anyOf":[{"required":["c"],"properties":{"c":{}}},{"required":["d"]}],
      "if":{"required":["e"]},"then":{"required":["f"],"properties":{"f":{}}},
      "not":{"properties":{"g":{}}},
      "$defs":{"a":{"allOf":[{"type":"object"},{"required":["i"]},{"properties":{"i":{"type":"string"}}}]}}})");
  for (const std::string_view pointer : {"/a", "/a/i", "/b"})
    EXPECT_TRUE(schema.promises(pointer)) << pointer;
  for (const std::string_view pointer : {"/c", "/d", "/e", "/f", "/a/j", "/a/i/k", "/l", "/z"})
    EXPECT_FALSE(schema.promises(pointer)) << pointer;
  for (const std::string_view pointer : {"/a/i", "/c", "/f", "/l/0/x", "/l/1/y", "/z1/w"})
    EXPECT_TRUE(schema.knows(pointer)) << pointer;
  for (const std::string_view pointer : {"/b", "/d", "/g", "/l/0/y", "/l/1/x", "/y1"})
    EXPECT_FALSE(schema.knows(pointer)) << pointer;
  EXPECT_EQ(schema.properties(), (std::vector<std::string>{"a", "c", "f", "l"}));
}

}  // namespace
}  // namespace ratchet
