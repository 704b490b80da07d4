#pragma once
// A tool's manifest: what it is, where it runs, and what it may do to the world. Every field that this
// version knows is enforced; one that it does not enforce yet is refused at registration (`not_supported`),
// never accepted and ignored.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/content.hpp"
#include "runtime/result.hpp"
#include "runtime/sandbox/command.hpp"
#include "runtime/tools/approval.hpp"
#include "runtime/tools/rate_limit.hpp"
#include "runtime/tools/schema.hpp"
#include "runtime/tools/types.hpp"

namespace ratchet {

/// One HTTP request with `{{/pointer}}` places that the call's arguments fill.
struct HttpTemplate {
  std::string method = "POST";
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;  ///< JSON; empty: the arguments themselves (POST, PUT and PATCH only)

  bool takes_body() const { return method == "POST" || method == "PUT" || method == "PATCH"; }
};

/// On whose behalf a tool acts.
struct ToolAuth {
  bool as_user = false;             ///< a connector gets the user's token, or one for `audience`
  std::vector<std::string> scopes;  ///< that the user's token must have
  std::string audience;             ///< empty: the user's token itself is sent

  bool operator==(const ToolAuth&) const = default;
};

struct ToolManifest {
  std::string name;
  std::string description;
  Json input_schema{R"({"type":"object"})"};
  ArgumentSchema schema;  ///< the same, compiled
  ToolKind kind = ToolKind::builtin;
  std::uint32_t tier = 1;
  std::int64_t timeout_ms = 10'000;
  std::vector<std::string> network_allow;  ///< host:port, exactly; a connector reaches nothing else
  SideEffects side_effects = SideEffects::none;
  Idempotency idempotency = Idempotency::none;
  std::int64_t idempotency_ttl_seconds = 86'400;
  SandboxLimits limits;                      ///< tiers 2 and 3
  Filesystem filesystem = Filesystem::none;  ///< tiers 2 and 3
  std::vector<std::string> argv;  ///< kind command: gets the arguments on its standard input, as JSON; kind
                                  ///< code: the interpreter, which gets the argument `code` there
  HttpTemplate http;              ///< kind http
  HttpTemplate status_check;  ///< idempotency status_check: GET; 200 it happened, the body is its result; 404
                              ///< it did not
  bool repeatable = false;
  std::optional<RateLimit> rate_limit;  ///< none: as often as the budgets allow
  std::vector<std::string> redact;  ///< JSON pointers into arguments and results, never shown outside the run
  ApprovalRule approval;            ///< makes the policy's word stricter, never weaker
  ToolAuth auth;

  bool sandboxed() const { return tier >= 2; }

  bool uses_workspace() const { return filesystem == Filesystem::workspace; }

  Json source;  ///< the manifest as it was registered, canonical; its SHA-256 is the digest
  Hash digest;
};

/// What `schema`, the tool's, finds wrong with the arguments, or nothing. Of a tool that hides some of them
/// (`redact`) the message, which stands in events, quotes none.
std::optional<std::string> argument_fault(const ToolManifest& tool,
                                          const ArgumentSchema& schema,
                                          std::string_view args_json);

/// user: sent by somebody; the names of built-in tools and their kind are reserved. pinned: from the store,
/// where a version keeps the manifests it was registered with, built-in ones too.
enum class ManifestOrigin { user, pinned };

/// Reads a manifest from JSON. Errors: invalid_json; unknown_field, not_supported, invalid_definition, each
/// with a pointer.
Result<ToolManifest> parse_manifest(std::string_view json, ManifestOrigin origin = ManifestOrigin::user);

/// The tools that ratchet brings along, by name, sorted. Names and arguments are those of the API contract.
const std::vector<ToolManifest>& builtin_manifests();
/// Null: there is none of this name, and users may give it to a tool of their own.
const ToolManifest* find_builtin(std::string_view name);

}  // namespace ratchet
