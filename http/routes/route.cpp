#include "http/routes/route.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ratchet {

namespace {

/// The ids of a path that has the pattern's form.
std::optional<std::vector<std::string>> match(std::string_view pattern,
                                              const std::vector<std::string>& segments) {
  std::vector<std::string> ids;
  std::size_t next = 0;
  for (std::string_view rest = pattern.substr(1);; ++next) {
    const auto end = rest.find('/');
    const auto part = rest.substr(0, end);
    if (next == segments.size()) return std::nullopt;
    if (part.starts_with('{'))
      ids.push_back(segments[next]);
    else if (part != segments[next])
      return std::nullopt;
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  if (next + 1 != segments.size()) return std::nullopt;
  return ids;
}

std::vector<Route> all_routes() {
  std::vector<Route> all;
  for (const auto& part : {agent_routes(),
                           approval_routes(),
                           artifact_routes(),
                           event_routes(),
                           operation_routes(),
                           run_routes(),
                           steering_routes(),
                           diff_routes(),
                           export_routes(),
                           replay_routes(),
                           search_routes(),
                           state_routes(),
                           step_routes(),
                           tool_routes(),
                           usage_routes(),
                           later_routes()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

const std::vector<Route>& routes() {
  static const std::vector<Route> all = all_routes();
  return all;
}

Result<std::variant<Match, OtherMethods>> find_route(std::string_view method, const Target& target) {
  std::vector<std::string_view> allowed;
  for (const Route& route : routes()) {
    auto ids = match(route.pattern, target.segments);
    if (!ids) continue;
    if (route.method == method || (method == "HEAD" && route.method == "GET"))
      return Match{&route, std::move(*ids)};
    allowed.push_back(route.method);
  }
  if (allowed.empty()) return fail(ErrorCode::not_found, fmt::format("there is nothing at {}", target.path));
  return OtherMethods{fmt::format("{}", fmt::join(allowed, ", "))};
}

Result<void> check_parameters(const Route& route, const Query& query) {
  for (const auto& [parameter, value] : query.all()) {
    if (std::find(route.parameters.begin(), route.parameters.end(), parameter) != route.parameters.end())
      continue;
    return fail(ErrorCode::invalid_request,
                route.parameters.empty()
                    ? fmt::format("there is no parameter '{}'; {} takes none", parameter, route.pattern)
                    : fmt::format("there is no parameter '{}'; {} takes {}",
                                  parameter,
                                  route.pattern,
                                  fmt::join(route.parameters, ", ")));
  }
  return {};
}

Response json_response(int status, std::string body) {
  Response response;
  response.status = status;
  response.headers = {{"Content-Type", "application/json"}};
  response.body = std::move(body);
  return response;
}

}  // namespace ratchet
