#pragma once
// The built-in tool `http_get`: one page of an endpoint that the operator lists.

#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"
#include "runtime/tools/connector.hpp"
#include "runtime/tools/manifest.hpp"

namespace ratchet {

bool is_http_get(const ToolManifest& tool);

/// The request of a call. `endpoints`: `host:port` each, as `Url::endpoint` writes them; no other is reached.
/// Errors: invalid_request, worded for the model.
Result<ConnectorCall> http_get_request(const ToolManifest& tool,
                                       std::string_view args_json,
                                       const std::vector<std::string>& endpoints);

}  // namespace ratchet
