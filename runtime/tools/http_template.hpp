#pragma once
// From a manifest's template and a call's arguments to one HTTP request. Arguments are a model's word: they
// fill values, and can change neither the host, nor the structure of the path, nor which parameters there
// are, nor a header.
//
// Places are written `{{/pointer}}` (RFC 6901, into the arguments). In a URL the value (text, number, true or
// false) is percent-encoded; it stands in the path or as the value of a query parameter. In a body, which is
// JSON, a string that is nothing but one place becomes the value itself; a place inside a longer string
// becomes text. A parameter or a member that is nothing but one place is left out where the arguments have no
// such value; everywhere else the schema has to require it.

#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"
#include "runtime/tools/connector.hpp"
#include "runtime/tools/manifest.hpp"

namespace ratchet {

/// The request of a call of a `kind: http` tool. `idempotency_key` travels as `Idempotency-Key` where the
/// tool's class is `key` or `status_check`. Errors: invalid_request, with a text for the model, if the
/// arguments do not fill the template; too_large.
Result<ConnectorCall> render_call(const ToolManifest& tool,
                                  std::string_view args_json,
                                  std::string_view idempotency_key);

/// The question what became of a call. `{{idempotency_key}}` and `{{call_id}}` are places here too.
Result<ConnectorCall> render_status_check(const ToolManifest& tool,
                                          std::string_view args_json,
                                          std::string_view idempotency_key,
                                          std::string_view call_id);

enum class TemplateUse { call, status_check };

/// Whether a template can be filled with every call that the schema lets through, and asks only for what
/// `network_allow` lets out. Errors: invalid_definition, not_supported; with a pointer into the template.
Result<void> check_template(const HttpTemplate& request,
                            TemplateUse use,
                            const ArgumentSchema& schema,
                            const std::vector<std::string>& network_allow);

}  // namespace ratchet
