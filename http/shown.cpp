#include "http/shown.hpp"

#include <algorithm>

#include "http/routes/route.hpp"

namespace ratchet {

namespace {

bool has_type(const Response& response, std::string_view part) {
  return std::any_of(response.headers.begin(), response.headers.end(), [&](const auto& header) {
    return header.first == "Content-Type" && header.second.find(part) != std::string::npos;
  });
}

}  // namespace

Sight sight_of(const Client& client, const Route& route) {
  if (client.may(Role::audit)) return Sight::exact;
  if (client.may(Role::approve) && route.pattern.find("/approvals") != std::string_view::npos)
    return Sight::exact;
  const bool is_definition =
      !route.roles || route.pattern.starts_with("/v1/agents") || route.pattern.starts_with("/v1/tools");
  return is_definition ? Sight::values : Sight::all;
}

Response shown(Response response, Sight sight, const Redactor& redactor) {
  // Bytes of artifacts are hidden where they are read, so that their number stays.
  if (sight == Sight::exact || response.body.empty() || has_type(response, "octet-stream")) return response;
  const auto keys = sight == Sight::all ? Redactor::Keys::hidden : Redactor::Keys::shown;
  auto redacted =
      has_type(response, "json") ? redactor.json(response.body, keys) : redactor.text(response.body);
  if (redacted) response.body = std::move(*redacted);
  return response;
}

}  // namespace ratchet
