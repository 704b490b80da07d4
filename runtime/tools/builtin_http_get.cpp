#include "runtime/tools/builtin_http_get.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/limits.hpp"
#include "runtime/tools/builtin_args.hpp"
#include "runtime/tools/url.hpp"

namespace ratchet {

namespace {

constexpr FieldRule get_fields[] = {{"url"}};

}  // namespace

bool is_http_get(const ToolManifest& tool) {
  return tool.kind == ToolKind::builtin && tool.name == "http_get";
}

Result<ConnectorCall> http_get_request(const ToolManifest& tool,
                                       std::string_view args_json,
                                       const std::vector<std::string>& endpoints) {
  ConnectorCall call;
  const auto error = read_args(args_json, get_fields, [&](ObjectReader& args) {
    call.url = args.text("url", 1, limits::url_bytes_max);
  });
  if (error) return fail(ErrorCode::invalid_request, invalid_args(*error).text);
  const auto url = parse_url(call.url);
  if (!url) return fail(ErrorCode::invalid_request, "url: " + url.error().text);
  if (std::find(endpoints.begin(), endpoints.end(), url->endpoint()) == endpoints.end())
    return fail(ErrorCode::invalid_request,
                endpoints.empty() ? "this server lists no endpoint that http_get may reach."
                                  : fmt::format("http_get may not reach {}; it may reach {}.",
                                                url->endpoint(),
                                                fmt::join(endpoints, ", ")));
  call.method = "GET";
  call.timeout_ms = tool.timeout_ms;
  call.network_allow = endpoints;
  call.reply_bytes_max = limits::artifact_bytes_max;
  return call;
}

}  // namespace ratchet
