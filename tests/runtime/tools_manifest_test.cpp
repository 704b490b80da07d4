#include <gtest/gtest.h>

#include "runtime/json/canonical.hpp"
#include "runtime/limits.hpp"
#include "runtime/tools/manifest.hpp"

namespace ratchet {
namespace {

/// A manifest that is taken, with some fields set otherwise: {"timeout_ms", "5"}; an empty text leaves one
/// out.
std::string manifest(std::vector<std::pair<std::string, std::string>> changes = {}) {
  std::vector<std::pair<std::string, std::string>> fields = {
      {"name", R"("book")"},
      {"description", R"("Books a room.")"},
      {"input_schema",
       R"({"type":"object","required":["id"],"properties":{"id":{"type":"string"},"note":{"type":"string"}}})"},
      {"kind", R"("http")"},
      {"side_effects", R"("internal")"},
      {"network", R"({"allow":["api.example:443"]})"},
      {"http", R"({"url":"https://api.example/rooms/{{/id}}"})"},
  };
  for (auto& [name, value] : changes) {
    const auto at =
        std::find_if(fields.begin(), fields.end(), [&](const auto& field) { return field.first == name; });
    if (at == fields.end())
      fields.emplace_back(name, value);
    else
      at->second = value;
  }
  std::string json;
  for (const auto& [name, value] : fields)
    if (!value.empty()) json += (json.empty() ? "{\"" : ",\"") + name + "\":" + value;
  return json + "}";
}

TEST(Manifest, ReadsAConnector) {
  const auto tool =
      parse_manifest(manifest({{"timeout_ms", "5000"},
                               {"repeatable", "true"},
                               {"idempotency", R"("key")"},
                               {"idempotency_ttl_seconds", "60"},
                               {"tier", "1"},
                               {"filesystem", R"("none")"},
                               {"approval", R"("never")"},
                               {"auth", R"({"mode":"none"})"},
                               {"redact", R"(["/id","/items/*/x"])"},
                               {"http", R"({"method":"PUT","url":"https://api.example/rooms/{{/id}}",
                                                "headers":{"X-B":"2","Accept":"text/plain"},
                                                "body":{"n":"{{/note}}"}})"}}));
  ASSERT_TRUE(tool) << tool.error().pointer << ": " << tool.error().text;
  EXPECT_EQ(tool->name, "book");
  EXPECT_EQ(tool->description, "Books a room.");
  EXPECT_EQ(tool->kind, ToolKind::http);
  EXPECT_EQ(tool->tier, 1u);
  EXPECT_EQ(tool->timeout_ms, 5'000);
  EXPECT_EQ(tool->network_allow, std::vector<std::string>{"api.example:443"});
  EXPECT_EQ(tool->side_effects, SideEffects::internal);
  EXPECT_EQ(tool->idempotency, Idempotency::key);
  EXPECT_EQ(tool->idempotency_ttl_seconds, 60);
  EXPECT_TRUE(tool->repeatable);
  EXPECT_EQ(tool->redact, (std::vector<std::string>{"/id", "/items/*/x"}));
  EXPECT_EQ(tool->http.method, "PUT");
  EXPECT_EQ(tool->http.body, R"({"n":"{{/note}}"})");
  EXPECT_EQ(tool->http.headers,
            (std::vector<std::pair<std::string, std::string>>{{"Accept", "text/plain"}, {"X-B", "2"}}));
  EXPECT_EQ(tool->schema.check("{}"), "the arguments: the property id is required (a string)");
}

TEST(Manifest, HasSafeDefaults) {
  const auto tool = parse_manifest(manifest());
  ASSERT_TRUE(tool) << tool.error().pointer << ": " << tool.error().text;
  EXPECT_EQ(tool->tier, 1u);
  EXPECT_EQ(tool->timeout_ms, 10'000);
  EXPECT_EQ(tool->idempotency, Idempotency::none);
  EXPECT_EQ(tool->http.method, "POST");
  EXPECT_FALSE(tool->repeatable);
}

TEST(Manifest, DigestIsThatOfTheCanonicalForm) {
  const auto a = parse_manifest(manifest());
  const auto b = parse_manifest("  " + manifest({{"name", R"( "b\u006fok" )"}}));
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->digest, b->digest);
  EXPECT_EQ(a->source, b->source);
  EXPECT_EQ(a->source.text, *canonical_json(manifest()));
  EXPECT_EQ(a->digest, sha256(a->source.text));
  EXPECT_NE(parse_manifest(manifest({{"timeout_ms", "10000"}}))->digest, a->digest)
      << "a default that is written";
}

TEST(Manifest, AStatusCheckAsksWithGet) {
  const auto tool = parse_manifest(
      manifest({{"idempotency", R"("status_check")"},
                {"status_check",
                 R"({"url":"https://api.example/keys/{{idempotency_key}}?call={{call_id}}&id={{/id}}"})"}}));
  ASSERT_TRUE(tool) << tool.error().pointer << ": " << tool.error().text;
  EXPECT_EQ(tool->status_check.method, "GET");
}

TEST(Manifest, ReadsWhenAPersonDecides) {
  EXPECT_EQ(parse_manifest(manifest())->approval.mode, ApprovalMode::never);
  EXPECT_EQ(parse_manifest(manifest({{"approval", R"("always")"}}))->approval.mode, ApprovalMode::always);
  const auto tool = parse_manifest(
      manifest({{"approval", R"("required_above")"}, {"approval_threshold", R"({"id":1.5,"/note":-2})"}}));
  ASSERT_TRUE(tool) << tool.error().pointer << ": " << tool.error().text;
  const auto& thresholds = tool->approval.thresholds;
  ASSERT_EQ(thresholds.size(), 2u);
  EXPECT_EQ(thresholds[0].argument, "/note");
  EXPECT_EQ(thresholds[0].steps, std::vector<std::string>{"note"});
  EXPECT_EQ(thresholds[0].above, -2);
  EXPECT_EQ(thresholds[1].argument, "id");
  EXPECT_EQ(thresholds[1].above, 1.5);
}

TEST(Manifest, RefusesThresholdsThatMakeNoSense) {
  const std::tuple<std::string_view, std::string_view, std::string_view> cases[] = {
      {R"("required_above")", "", ""},
      {R"("required_above")", "{}", "/approval_threshold"},
      {R"("required_above")", R"({"idd":1})", "/approval_threshold/idd"},
      {R"("required_above")", R"({"/id/x":1})", "/approval_threshold/~1id~1x"},
      {R"("required_above")", R"({"/i~d":1})", "/approval_threshold/~1i~0d"},
      {R"("required_above")", R"({"id":"1"})", "/approval_threshold/id"},
      {R"("required_above")", "[]", "/approval_threshold"},
      {R"("always")", R"({"id":1})", "/approval_threshold"},
      {"", R"({"id":1})", "/approval_threshold"},
  };
  for (const auto& [approval, threshold, pointer] : cases) {
    const auto tool = parse_manifest(
        manifest({{"approval", std::string(approval)}, {"approval_threshold", std::string(threshold)}}));
    ASSERT_FALSE(tool) << approval << threshold;
    EXPECT_EQ(tool.error().code, ErrorCode::invalid_definition);
    EXPECT_EQ(tool.error().pointer, pointer) << tool.error().text;
  }
}

struct Refusal {
  std::string field, value;
  ErrorCode code;
  std::string pointer;
};

void expect_refusals(const std::vector<Refusal>& refusals) {
  for (const auto& [field, value, code, pointer] : refusals) {
    const auto tool = parse_manifest(manifest({{field, value}}));
    ASSERT_FALSE(tool) << field << ": " << value;
    EXPECT_EQ(name(tool.error().code), name(code)) << field << ": " << value << ": " << tool.error().text;
    EXPECT_EQ(tool.error().pointer, pointer) << field << ": " << value << ": " << tool.error().text;
    EXPECT_FALSE(tool.error().text.empty());
  }
}

TEST(Manifest, RefusesWhatItDoesNotKnow) {
  expect_refusals({
      {"timout_ms", "1", ErrorCode::unknown_field, "/timout_ms"},
      {"a/b", "1", ErrorCode::unknown_field, "/a~1b"},
      {"network", R"({"allow":["api.example:443"],"deny":[]})", ErrorCode::unknown_field, "/network/deny"},
      {"http", R"({"url":"https://api.example/","methd":"GET"})", ErrorCode::unknown_field, "/http/methd"},
      {"auth", R"({"mod":"none"})", ErrorCode::unknown_field, "/auth/mod"},
  });
}

TEST(Manifest, RefusesWhatItDoesNotEnforce) {
  expect_refusals({
      {"memory_mb", "512", ErrorCode::invalid_definition, "/memory_mb"},
      {"cpus", "0.5", ErrorCode::invalid_definition, "/cpus"},
      {"pids", "64", ErrorCode::invalid_definition, "/pids"},
      {"rate_limit", R"("60/min")", ErrorCode::invalid_definition, "/rate_limit"},
      {"rate_limit", R"("60/month per run")", ErrorCode::invalid_definition, "/rate_limit"},
      {"rate_limit", R"("0/min per run")", ErrorCode::invalid_definition, "/rate_limit"},
      {"rate_limit", R"("1e3/min per run")", ErrorCode::invalid_definition, "/rate_limit"},
      {"rate_limit", R"("60/min per agent")", ErrorCode::invalid_definition, "/rate_limit"},
      {"rate_limit", R"("60/min per run ")", ErrorCode::invalid_definition, "/rate_limit"},
      {"mcp", R"({"server":"mail","tool":"send"})", ErrorCode::not_supported, "/mcp"},
      {"filesystem", R"("workspace")", ErrorCode::invalid_definition, "/filesystem"},
      {"auth", R"({"mode":"none","scopes":["email:send"]})", ErrorCode::invalid_definition, "/auth/mode"},
      {"auth", R"({"audience":"mail"})", ErrorCode::invalid_definition, "/auth/mode"},
      {"kind", R"("command")", ErrorCode::invalid_definition, ""},
      {"kind", R"("code")", ErrorCode::invalid_definition, ""},
      {"kind", R"("mcp")", ErrorCode::not_supported, "/kind"},
      {"input_schema",
       R"({"type":"object","nullable":true})",
       ErrorCode::not_supported,
       "/input_schema/nullable"},
      {"http",
       R"({"url":"https://api.example/{{/id}}","body":"a=1"})",
       ErrorCode::not_supported,
       "/http/body"},
      {"http",
       R"({"url":"https://api.example/{{/id}}","headers":{"X-Id":"{{/id}}"}})",
       ErrorCode::not_supported,
       "/http/headers/X-Id"},
  });
}

TEST(Manifest, RefusesWhatMakesNoSense) {
  const auto bad = ErrorCode::invalid_definition;
  expect_refusals({
      {"name", "", bad, ""},
      {"name", R"("Book")", bad, "/name"},
      {"name", R"("bash")", bad, "/name"},
      {"name", R"("artifact_read")", bad, "/name"},
      {"name", "1", bad, "/name"},
      {"description", "", bad, ""},
      {"description", R"("")", bad, "/description"},
      {"description", "\"" + std::string(limits::description_bytes_max + 1, 'x') + "\"", bad, "/description"},
      {"input_schema", "", bad, ""},
      {"input_schema", "[]", bad, "/input_schema"},
      {"input_schema", R"({"type":"string"})", bad, "/input_schema/type"},
      {"kind", "", bad, ""},
      {"kind", R"("builtin")", bad, "/kind"},
      {"kind", R"("https")", bad, "/kind"},
      {"redact", R"(["id"])", bad, "/redact/0"},
      {"redact", R"(["/id",""])", bad, "/redact/1"},
      {"redact", R"("/id")", bad, "/redact"},
      {"tier", "2", bad, "/tier"},
      {"tier", "3", bad, "/tier"},
      {"tier", "0", bad, "/tier"},
      {"tier", R"("1")", bad, "/tier"},
      {"timeout_ms", "0", bad, "/timeout_ms"},
      {"timeout_ms", "3600001", bad, "/timeout_ms"},
      {"timeout_ms", "1.5", bad, "/timeout_ms"},
      {"timeout_ms", "1e300", bad, "/timeout_ms"},
      {"repeatable", "1", bad, "/repeatable"},
      {"side_effects", "", bad, ""},
      {"side_effects", R"("some")", bad, "/side_effects"},
      {"idempotency", R"("maybe")", bad, "/idempotency"},
      {"idempotency_ttl_seconds", "60", bad, "/idempotency_ttl_seconds"},
      {"idempotency", R"("status_check")", bad, ""},
      {"status_check", R"({"url":"https://api.example/"})", bad, "/status_check"},
      {"network", "", bad, "/http/url"},
      {"network", R"({"allow":["api.example"]})", bad, "/network/allow/0"},
      {"network", R"({"allow":["API.example:443"]})", bad, "/network/allow/0"},
      {"network", R"({"allow":["*.example:443"]})", bad, "/network/allow/0"},
      {"network", R"({"allow":["https://api.example:443"]})", bad, "/network/allow/0"},
      {"network", R"({"allow":"api.example:443"})", bad, "/network/allow"},
      {"network", R"({"allow":["api.example:443",1]})", bad, "/network/allow/1"},
      {"network", R"({"allow":["api.example:8443"]})", bad, "/http/url"},
      {"http", "", bad, ""},
      {"http", "{}", bad, "/http"},
      {"http", R"({"url":"https://api.example/{{/id}}","method":"TRACE"})", bad, "/http/method"},
      {"http", R"({"url":"https://api.example/{{/id}}","headers":[]})", bad, "/http/headers"},
      {"http", R"({"url":"https://api.example/{{/id}}","headers":{"X":1}})", bad, "/http/headers/X"},
      {"http", R"({"url":"https://api.example/{{/id}}","method":"GET","body":{}})", bad, "/http/body"},
      {"http", R"({"url":"https://u:p@api.example/{{/id}}"})", bad, "/http/url"},
      {"http",
       R"({"url":"https://api.example/{{/id}}","headers":{"X-Api-Key":"1"}})",
       bad,
       "/http/headers/X-Api-Key"},
      {"http",
       R"({"url":"https://api.example/{{/id}}","headers":{"X":"ghp_0123456789abcdefghijABCDEFGHIJ012345"}})",
       bad,
       "/http/headers/X"},
  });
  EXPECT_EQ(parse_manifest("{").error().code, ErrorCode::invalid_json);
  EXPECT_EQ(parse_manifest(R"({"name":"a","name":"b"})").error().code, ErrorCode::invalid_json);
  EXPECT_EQ(parse_manifest("null").error().text, "expected an object, found null");
}

TEST(Manifest, KeepsWhatItWasPinnedWith) {
  const auto text =
      manifest({{"http", R"({"url":"https://api.example/{{/id}}","headers":{"X-Api-Key":"1"}})"}});
  EXPECT_FALSE(parse_manifest(text));
  EXPECT_TRUE(parse_manifest(text, ManifestOrigin::pinned));
}

TEST(Manifest, QuotesNoArgumentsOfAToolThatHidesSome) {
  const auto schema =
      R"({"type":"object","required":["id"],"properties":{"id":{"type":"string"},"n":{"type":"number","maximum":3,"multipleOf":2},"e":{"anyOf":[{"type":"string"},{"type":"array"}]}},"propertyNames":{"maxLength":4}})";
  const auto open = parse_manifest(manifest({{"input_schema", schema}}));
  const auto hiding = parse_manifest(manifest({{"input_schema", schema}, {"redact", R"(["/id"])"}}));
  ASSERT_TRUE(open && hiding);
  const auto fault = [](const ToolManifest& tool, std::string_view args) {
    return argument_fault(tool, tool.schema, args).value_or("ok");
  };
  EXPECT_NE(fault(*open, R"({"id":987654321})").find("987654321"), std::string::npos);
  for (const auto* args : {R"({"id":987654321})",
                           R"({"id":"a","n":987654321})",
                           R"({"id":"a","e":987654321})",
                           R"({"id":"a","n":"987654321"})"}) {
    EXPECT_NE(fault(*hiding, args), "ok") << args;
    EXPECT_EQ(fault(*hiding, args).find("987654321"), std::string::npos) << fault(*hiding, args);
  }
  EXPECT_EQ(fault(*hiding, R"({"id":987654321})"), "/id: expected a string, found a number");
  EXPECT_EQ(fault(*hiding, R"({"id":"a","n":2})"), "ok");
}

TEST(Manifest, RefusesAStatusCheckThatDoesNotFit) {
  const auto refused = [](std::string idempotency, std::string status_check) {
    const auto tool = parse_manifest(
        manifest({{"idempotency", "\"" + idempotency + "\""}, {"status_check", std::move(status_check)}}));
    return tool ? "taken" : tool.error().pointer + ": " + std::string(name(tool.error().code));
  };
  EXPECT_EQ(refused("key", R"({"url":"https://api.example/x"})"), "/status_check: not_supported");
  EXPECT_EQ(refused("status_check", R"({"url":"https://api.example/x","method":"POST"})"),
            "/status_check/method: invalid_definition");
  EXPECT_EQ(refused("status_check", R"({"url":"https://api.example/x","body":{}})"),
            "/status_check/body: unknown_field");
  EXPECT_EQ(refused("status_check", R"({"url":"https://other.example/x"})"),
            "/status_check/url: invalid_definition");
  EXPECT_EQ(refused("status_check", R"({"url":"https://api.example/{{run_id}}"})"),
            "/status_check/url: invalid_definition");
}

std::string program(std::string_view kind, std::string_view more) {
  return R"({"name":"scan","description":"Scans.","input_schema":{"type":"object","properties":{"code":{}}},)"
         R"("side_effects":"none","kind":")" +
         std::string(kind) + "\"" + std::string(more) + "}";
}

TEST(Manifest, ReadsAProgramAndItsLimits) {
  const auto tool = parse_manifest(
      program("command",
              R"(,"command":{"argv":["/usr/bin/scan","--json"]},"memory_mb":256,"cpus":0.25,"pids":16,)"
              R"("filesystem":"ephemeral","network":{"allow":["api.example:443"]})"));
  ASSERT_TRUE(tool) << tool.error().text;
  EXPECT_EQ(tool->tier, 2u) << "where it is not said";
  EXPECT_EQ(tool->limits, (SandboxLimits{256, 250, 16}));
  EXPECT_EQ(tool->filesystem, Filesystem::ephemeral);
  EXPECT_EQ(tool->argv, (std::vector<std::string>{"/usr/bin/scan", "--json"}));
  EXPECT_EQ(parse_manifest(program("code", R"(,"command":{"argv":["/usr/bin/python3","-"]})"))->tier, 3u);
}

TEST(Manifest, RefusesAProgramThatCannotBeHeldToIt) {
  const auto refused = [](std::string_view kind, std::string_view more) {
    const auto tool = parse_manifest(program(kind, more));
    return tool ? "taken" : tool.error().pointer + ": " + std::string(name(tool.error().code));
  };
  const std::string argv = R"(,"command":{"argv":["/bin/true"]})";
  EXPECT_EQ(refused("command", argv), "taken");
  EXPECT_EQ(refused("command", argv + R"(,"tier":1)"), "/tier: invalid_definition");
  EXPECT_EQ(refused("command", argv + R"(,"tier":3)"), "taken");
  EXPECT_EQ(refused("code", argv + R"(,"tier":1)"), "/tier: invalid_definition");
  EXPECT_EQ(refused("code", argv + R"(,"tier":2)"), "/tier: invalid_definition")
      << "what a model wrote never runs below tier 3";
  EXPECT_EQ(refused("command", R"(,"command":{"argv":[]})"), "/command/argv: invalid_definition");
  EXPECT_EQ(refused("command", R"(,"command":{"argv":["true"]})"), "/command/argv: invalid_definition");
  EXPECT_EQ(refused("command", R"(,"command":{"argv":["/bin/a\u0000b"]})"),
            "/command/argv/0: invalid_definition");
  EXPECT_EQ(refused("command", argv + R"(,"memory_mb":1)"), "/memory_mb: invalid_definition");
  EXPECT_EQ(refused("command", argv + R"(,"pids":0)"), "/pids: invalid_definition");
  EXPECT_EQ(refused("command", argv + R"(,"cpus":"1")"), "/cpus: invalid_definition");
  EXPECT_EQ(refused("command", argv + R"(,"idempotency":"key")"), "/idempotency: not_supported");
  EXPECT_EQ(refused("command", argv + R"(,"auth":{"mode":"on_behalf_of_user","audience":"x"})"),
            "/auth/audience: invalid_definition")
      << "a sandbox gets no credential";
  EXPECT_EQ(parse_manifest(R"({"name":"run","description":"Runs.","input_schema":{"type":"object"},)"
                           R"("side_effects":"none","kind":"code","command":{"argv":["/bin/sh"]}})")
                .error()
                .pointer,
            "/input_schema")
      << "there is no argument that holds the program";
}

TEST(Manifest, NamesTheFieldInItsText) {
  EXPECT_EQ(parse_manifest(manifest({{"side_effects", ""}})).error().text,
            "the field side_effects is required");
  EXPECT_EQ(parse_manifest(manifest({{"timeout_ms", "0"}})).error().text,
            "timeout_ms: expected an integer from 1 to 3600000, found 0");
  EXPECT_EQ(parse_manifest(manifest({{"kind", R"("https")"}})).error().text,
            "kind: expected one of builtin, http, command, code, mcp; found 'https'");
  EXPECT_TRUE(parse_manifest(manifest({{"timout_ms", "1"}}))
                  .error()
                  .text.starts_with("there is no field 'timout_ms'; known are name, description"));
}

TEST(Builtins, AreThoseOfTheContractInOrder) {
  std::vector<std::string> names;
  for (const auto& tool : builtin_manifests()) {
    names.push_back(tool.name);
    EXPECT_EQ(tool.side_effects, SideEffects::none) << tool.name;
    EXPECT_EQ(tool.kind, ToolKind::builtin) << tool.name;
    EXPECT_EQ(tool.tier, tool.filesystem == Filesystem::workspace ? 3u : 1u) << tool.name;
    EXPECT_EQ(find_builtin(tool.name), &tool);
    const auto again = parse_manifest(tool.source.text, ManifestOrigin::pinned);
    ASSERT_TRUE(again) << tool.name;
    EXPECT_EQ(again->digest, tool.digest);
    EXPECT_FALSE(parse_manifest(tool.source.text)) << "only ratchet brings these";
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"artifact_read",
                                      "artifact_search",
                                      "bash",
                                      "edit_file",
                                      "http_get",
                                      "list_files",
                                      "notes_read",
                                      "notes_write",
                                      "read_file",
                                      "run_python",
                                      "spawn_agent",
                                      "todo_write",
                                      "wait",
                                      "write_file"}));
  EXPECT_EQ(find_builtin("book"), nullptr);
}

TEST(Builtins, TakeTheArgumentsOfTheContract) {
  const std::tuple<std::string_view, std::string_view, bool> cases[] = {
      {"artifact_read", R"({"artifact_id":"art_1","offset":0,"limit":100})", true},
      {"artifact_read", R"({"artifact_id":"art_1","offset":-1})", false},
      {"artifact_read", R"({"artifact_id":"art_1","length":1})", false},
      {"artifact_search",
       R"({"artifact_id":"art_1","pattern":"x","max_matches":200,"context_lines":3})",
       true},
      {"artifact_search", R"({"artifact_id":"art_1","pattern":"x","max_matches":201})", false},
      {"artifact_search", R"({"artifact_id":"art_1"})", false},
      {"notes_write", R"({"text":"x","mode":"replace"})", true},
      {"notes_write", R"({"text":"x","mode":"prepend"})", false},
      {"notes_read", "{}", true},
      {"notes_read", R"({"x":1})", false},
      {"todo_write", R"({"items":[{"text":"x","status":"open"}]})", true},
      {"todo_write", R"({"items":[{"text":"x"}]})", false},
      {"wait", R"({"seconds":1.5})", true},
      {"wait", R"({"until":"2026-11-30T08:00:00Z"})", true},
      {"wait", R"({"seconds":"5"})", false},
  };
  for (const auto& [name, args, fits] : cases)
    EXPECT_EQ(!find_builtin(name)->schema.check(args), fits)
        << name << args << ": " << find_builtin(name)->schema.check(args).value_or("ok");
}

}  // namespace
}  // namespace ratchet
