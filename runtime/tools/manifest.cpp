#include "runtime/tools/manifest.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/definition_reader.hpp"
#include "runtime/ids.hpp"
#include "runtime/json/canonical.hpp"
#include "runtime/json/dom.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"
#include "runtime/pointer.hpp"
#include "runtime/redact/redactor.hpp"
#include "runtime/tools/http_template.hpp"
#include "runtime/tools/url.hpp"

namespace ratchet {

namespace {

constexpr FieldRule manifest_fields[] = {
    {"name"},
    {"description"},
    {"input_schema"},
    {"kind"},
    {"tier"},
    {"timeout_ms"},
    {"memory_mb"},
    {"cpus"},
    {"pids"},
    {"filesystem"},
    {"network"},
    {"auth"},
    {"rate_limit"},
    {"side_effects"},
    {"idempotency"},
    {"idempotency_ttl_seconds"},
    {"status_check"},
    {"approval"},
    {"approval_threshold"},
    {"repeatable"},
    {"redact"},
    {"http"},
    {"command"},
    {"mcp", "tools of kind mcp are not run by this version"},
};
constexpr FieldRule network_fields[] = {{"allow"}};
constexpr FieldRule auth_fields[] = {{"mode"}, {"scopes"}, {"audience"}};
constexpr FieldRule http_fields[] = {{"method"}, {"url"}, {"headers"}, {"body"}};
constexpr FieldRule command_fields[] = {{"argv"}};
constexpr FieldRule status_check_fields[] = {{"method"}, {"url"}, {"headers"}};

RATCHET_ENUM(AuthMode, none, on_behalf_of_user)
RATCHET_ENUM(Method, GET, POST, PUT, PATCH, DELETE)

/// One pass over a manifest. Each part refuses what it does not take; the first error wins.
class ManifestParser {
 public:
  ManifestParser(const boost::json::value& json, ManifestOrigin origin)
      : origin_(origin), fields_(json, "", manifest_fields, error_) {}

  Result<ToolManifest> parse() {
    identity();
    auth();
    schema();
    execution();
    sandbox();
    effects();
    approval();
    redact();
    if (manifest_.kind == ToolKind::http) http();
    if (is_program()) program();
    if (error_) return tl::unexpected(*error_);
    return std::move(manifest_);
  }

 private:
  void not_supported(std::string_view field, std::string why) {
    fields_.refuse(ErrorCode::not_supported, field, std::move(why));
  }

  void identity() {
    manifest_.name = fields_.text("name", 1, 64);
    if (!is_name(manifest_.name))
      fields_.invalid("name",
                      "the name of a tool is a lower-case letter, then up to 63 of a-z, 0-9, _ and -");
    manifest_.description = fields_.text("description", 1, limits::description_bytes_max);
    manifest_.kind = fields_.choice<ToolKind>("kind");
    if (manifest_.kind == ToolKind::mcp)
      not_supported("kind", "tools of kind mcp are not run by this version");
    if (origin_ == ManifestOrigin::pinned) return;
    if (fields_.has("kind") && manifest_.kind == ToolKind::builtin)
      fields_.invalid("kind", "built-in tools are part of ratchet and cannot be registered");
    if (find_builtin(manifest_.name))
      fields_.invalid("name", fmt::format("{} is the name of a built-in tool", manifest_.name));
  }

  bool is_program() const { return manifest_.kind == ToolKind::command || manifest_.kind == ToolKind::code; }

  /// What a model wrote never runs below tier 3, and what acts inside of ratchet never above tier 1. Built-in
  /// tools say where they run.
  void tier() {
    const auto kind = manifest_.kind;
    const std::int64_t lowest = kind == ToolKind::code ? 3 : kind == ToolKind::command ? 2 : 1;
    const std::int64_t highest = is_program() || kind == ToolKind::builtin ? 3 : 1;
    manifest_.tier = static_cast<std::uint32_t>(fields_.integer("tier", 1, 3, lowest));
    if (manifest_.tier < lowest || manifest_.tier > highest)
      fields_.invalid("tier",
                      fmt::format("a tool of kind {} runs in tier {}",
                                  name(kind),
                                  kind == ToolKind::command ? "2 or 3" : std::to_string(lowest)));
  }

  void sandbox() {
    constexpr std::string_view fields[] = {"memory_mb", "cpus", "pids", "filesystem"};
    manifest_.filesystem = fields_.choice<Filesystem>("filesystem", Filesystem::none);
    SandboxLimits& to = manifest_.limits;
    to.memory_mb = static_cast<std::uint32_t>(fields_.integer(
        "memory_mb", limits::sandbox_memory_mb_min, limits::sandbox_memory_mb_max, to.memory_mb));
    to.pids = static_cast<std::uint32_t>(
        fields_.integer("pids", limits::sandbox_pids_min, limits::sandbox_pids_max, to.pids));
    const auto cpus = fields_.number_text(
        "cpus", limits::sandbox_cpu_permille_min / 1'000.0, limits::sandbox_cpu_permille_max / 1'000.0);
    if (!cpus.empty()) to.cpu_permille = static_cast<std::uint32_t>(std::lround(std::stod(cpus) * 1'000));
    if (manifest_.sandboxed()) return;
    for (const auto field : fields)
      if (fields_.has(field) && (field != "filesystem" || manifest_.filesystem != Filesystem::none))
        fields_.invalid(field, "a tool of tier 1 has no sandbox that this could be a limit of");
  }

  void program() {
    const bool code = manifest_.kind == ToolKind::code;
    if (!fields_.has("command"))
      fields_.invalid("", fmt::format("a tool of kind {} has the field command", name(manifest_.kind)));
    manifest_.argv = fields_.object("command", command_fields)
                         .texts("argv", limits::sandbox_argv_max, limits::sandbox_arg_bytes_max);
    if (manifest_.argv.empty() || !manifest_.argv.front().starts_with('/'))
      fields_.invalid("command/argv", "expected a program by its absolute path, then its arguments");
    for (std::size_t i = 0; i < manifest_.argv.size(); ++i)
      if (manifest_.argv[i].find('\0') != std::string::npos)
        fields_.invalid(fmt::format("command/argv/{}", i), "an argument cannot hold a zero byte");
    if (code && !manifest_.schema.knows("/code"))
      fields_.invalid("input_schema", "a tool of kind code has the property code, the text of the program");
    if (manifest_.idempotency != Idempotency::none)
      not_supported("idempotency", "a program in a sandbox is told no key by this version: leave it out");
    if (!manifest_.auth.audience.empty())
      fields_.invalid("auth/audience",
                      "a sandbox gets no credential: the scopes are checked, nothing is sent");
  }

  void auth() {
    auto auth = fields_.object("auth", auth_fields);
    ToolAuth& to = manifest_.auth;
    to.as_user = auth.choice<AuthMode>("mode", AuthMode::none) == AuthMode::on_behalf_of_user;
    to.scopes = auth.texts("scopes", limits::scopes_max, limits::scope_bytes_max);
    to.audience = auth.text("audience", 1, limits::scope_bytes_max, "");
    if (!to.as_user && (!to.scopes.empty() || !to.audience.empty()))
      auth.invalid("mode", "scopes and audience are of the user's token: they need mode: on_behalf_of_user");
    if (to.as_user && manifest_.kind == ToolKind::builtin)
      auth.invalid("mode", "a built-in tool acts for nobody");
  }

  void schema() {
    const auto* given = fields_.find("input_schema");
    if (!given) return fields_.invalid("", "the field input_schema is required");
    manifest_.input_schema.text = fields_.json("input_schema");
    auto compiled = ArgumentSchema::compile(manifest_.input_schema.text);
    if (compiled)
      manifest_.schema = *compiled;
    else
      fields_.refuse(compiled.error().code, "input_schema" + compiled.error().pointer, compiled.error().text);
  }

  void execution() {
    tier();
    manifest_.timeout_ms =
        fields_.integer("timeout_ms", 1, limits::tool_timeout_ms_max, manifest_.timeout_ms);
    manifest_.repeatable = fields_.boolean("repeatable", false);
    if (fields_.has("rate_limit")) {
      auto limit = parse_rate_limit(fields_.text("rate_limit", 1, 64));
      if (limit)
        manifest_.rate_limit = *limit;
      else
        fields_.invalid("rate_limit", limit.error().text);
    }
    manifest_.network_allow =
        fields_.object("network", network_fields).texts("allow", limits::network_allow_max, 260);
    for (std::size_t i = 0; i < manifest_.network_allow.size(); ++i)
      if (!is_endpoint(manifest_.network_allow[i]))
        fields_.invalid(fmt::format("network/allow/{}", i), "expected host:port, the host in lower case");
    if (manifest_.kind == ToolKind::builtin && !manifest_.network_allow.empty())
      fields_.invalid("network/allow", "a built-in tool reaches nothing");
  }

  void effects() {
    manifest_.side_effects = fields_.choice<SideEffects>("side_effects");
    manifest_.idempotency = fields_.choice<Idempotency>("idempotency", Idempotency::none);
    manifest_.idempotency_ttl_seconds = fields_.integer(
        "idempotency_ttl_seconds", 1, limits::idempotency_ttl_seconds_max, manifest_.idempotency_ttl_seconds);
    if (fields_.has("idempotency_ttl_seconds") && manifest_.idempotency != Idempotency::key)
      fields_.invalid("idempotency_ttl_seconds",
                      "only a tool with idempotency: key has a key that can expire");
    if (manifest_.kind == ToolKind::builtin &&
        (manifest_.side_effects != SideEffects::none || manifest_.idempotency != Idempotency::none))
      fields_.invalid("side_effects", "a built-in tool has none");
    if (manifest_.idempotency == Idempotency::key && fields_.has("status_check"))
      not_supported(
          "status_check",
          "a call whose key has expired is left to a person by this version: leave the status check out");
    else if (manifest_.idempotency != Idempotency::status_check && fields_.has("status_check"))
      fields_.invalid("status_check", "it needs idempotency: status_check");
  }

  /// They are of results too, which no schema describes: any pointer is taken.
  void redact() {
    manifest_.redact = fields_.texts("redact", limits::redact_pointers_max, 256);
    for (std::size_t i = 0; i < manifest_.redact.size(); ++i)
      if (!split_pointer(manifest_.redact[i]))
        fields_.invalid(fmt::format("redact/{}", i),
                        "expected a JSON pointer: /name, or /name/* for every element");
  }

  void approval() {
    ApprovalRule& rule = manifest_.approval;
    rule.mode = fields_.choice<ApprovalMode>("approval", ApprovalMode::never);
    const bool has_threshold = fields_.has("approval_threshold");
    if (has_threshold && rule.mode != ApprovalMode::required_above)
      fields_.invalid("approval_threshold", "it needs approval: required_above");
    if (!has_threshold && rule.mode == ApprovalMode::required_above)
      fields_.invalid("", "approval: required_above needs the field approval_threshold");
    for (const auto& [argument, above] :
         fields_.members("approval_threshold", limits::approval_thresholds_max))
      threshold(argument, *above);
    if (has_threshold && rule.thresholds.empty())
      fields_.invalid("approval_threshold", "expected an argument and a number");
  }

  /// The argument is told by its name or by a JSON pointer.
  void threshold(std::string_view argument, const boost::json::value& above) {
    const auto at = "approval_threshold" + pointer_to("", argument);
    const auto pointer = argument.starts_with('/') ? std::string(argument) : pointer_to("", argument);
    auto steps = split_pointer(pointer);
    if (!steps || !manifest_.schema.knows(pointer))
      fields_.invalid(
          at, fmt::format("input_schema has no property {}", argument.substr(0, utf8_cut(argument, 60))));
    if (!above.is_number())
      return fields_.invalid(at, fmt::format("expected a number, found {}", kind_name(above)));
    manifest_.approval.thresholds.push_back(
        {std::string(argument), steps.value_or(std::vector<std::string>{}), above.to_number<double>()});
  }

  void http() {
    if (!fields_.has("http")) fields_.invalid("", "a tool of kind http has the field http");
    manifest_.http = request("http", http_fields);
    check("http", TemplateUse::call, manifest_.http);
    if (manifest_.idempotency != Idempotency::status_check) return;
    if (!fields_.has("status_check"))
      fields_.invalid("", "idempotency: status_check needs the field status_check");
    manifest_.status_check = request("status_check", status_check_fields);
    if (manifest_.status_check.method != "GET")
      fields_.invalid("status_check/method", "a status check changes nothing: only GET");
    check("status_check", TemplateUse::status_check, manifest_.status_check);
  }

  HttpTemplate request(std::string_view field, std::span<const FieldRule> rules) {
    auto reader = fields_.object(field, rules);
    HttpTemplate request;
    request.method = name(reader.choice<Method>("method", field == "http" ? Method::POST : Method::GET));
    request.url = reader.text("url", 1, limits::url_bytes_max);
    for (const auto& [header, value] : reader.members("headers", limits::template_headers_max)) {
      request.headers.emplace_back(header, value->is_string() ? std::string_view(value->get_string()) : "");
      if (!value->is_string() || value->get_string().size() > limits::header_bytes_max)
        reader.invalid("headers" + pointer_to("", header),
                       fmt::format("expected a string of at most {} bytes", limits::header_bytes_max));
    }
    body(reader, request);
    if (origin_ == ManifestOrigin::user) refuse_secrets(reader, request);
    return request;
  }

  /// Everybody who may read definitions sees them.
  static void refuse_secrets(ObjectReader& reader, const HttpTemplate& request) {
    const auto look = [&](const std::string& field, std::string_view text) {
      for (const auto& found : Redactor::standard()->find(text))
        if (text.substr(found.begin, found.end - found.begin).find("{{") == std::string_view::npos)
          reader.invalid(
              field, fmt::format("it looks like a secret ({}), which a manifest never holds", found.rule));
    };
    look("url", request.url);
    look("body", request.body);
    for (const auto& [header, value] : request.headers) {
      const auto field = "headers" + pointer_to("", header);
      if (is_secret_key(header))
        reader.invalid(field, "a header of this name carries a secret, which a manifest never holds");
      look(field, value);
    }
  }

  void body(ObjectReader& reader, HttpTemplate& request) {
    const auto* given = reader.find("body");
    if (!given) return;
    const bool is_place = given->is_string() && given->get_string().starts_with("{{");
    if (!given->is_object() && !given->is_array() && !is_place)
      reader.refuse(
          ErrorCode::not_supported,
          "body",
          fmt::format("a body is JSON: expected an object, an array or one {{{{/pointer}}}}, found {}",
                      kind_name(*given)));
    if (!request.takes_body())
      reader.invalid("body", fmt::format("a {} request has no body", request.method));
    request.body = reader.json("body");
    if (request.body.size() > limits::template_body_bytes_max)
      reader.invalid("body", fmt::format("more than {} bytes", limits::template_body_bytes_max));
  }

  void check(std::string_view field, TemplateUse use, const HttpTemplate& request) {
    if (error_) return;  // what is checked has not been read
    const auto checked = check_template(request, use, manifest_.schema, manifest_.network_allow);
    if (!checked)
      fields_.refuse(
          checked.error().code, std::string(field) + checked.error().pointer, checked.error().text);
  }

  ManifestOrigin origin_;
  std::optional<Error> error_;
  ObjectReader fields_;
  ToolManifest manifest_;
};

}  // namespace

std::optional<std::string> argument_fault(const ToolManifest& tool,
                                          const ArgumentSchema& schema,
                                          std::string_view args_json) {
  return tool.redact.empty() ? schema.check(args_json) : schema.check_unquoted(args_json);
}

Result<ToolManifest> parse_manifest(std::string_view json, ManifestOrigin origin) {
  auto canonical = canonical_json(json);
  if (!canonical) return tl::unexpected(canonical.error());
  const auto value = parse_json(*canonical);
  if (!value) return tl::unexpected(value.error());
  auto manifest = ManifestParser(*value, origin).parse();
  if (!manifest) return manifest;
  manifest->source.text = std::move(*canonical);
  manifest->digest = sha256(manifest->source.text);
  return manifest;
}

}  // namespace ratchet
