#pragma once
// From a manifest's template and a call's arguments to one HTTP request. Arguments are a model's word: they
// fill values, and can change neither the host, nor the structure of the path, nor which parameters there
// are, nor a header.
//
// Places are written `{{/pointer}}` (RFC 6901, into the arguments). In a URL the value (text, number, true or
// false) is percent-encoded; it stands in the path or as the value of a query parameter. In a body, which is
// JSON, a string that is nothing but one place becomes the value itself, and its member is left out where the
// arguments have no such value; a place inside a longer string becomes text.

#include <string_view>

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

/// Reads `url` as far as the door must know it before anything is sent: `host:port`, with the scheme's port
/// where none is written. Errors: invalid_definition.
Result<std::string> url_endpoint(std::string_view url);

}  // namespace ratchet
