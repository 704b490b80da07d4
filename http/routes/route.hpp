#pragma once
// The API as a table: each route says who may call it, which parameters it takes, and what answers. Which
// paths exist (404, 405), roles, unknown parameters and the OpenAPI test all follow from the table.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "http/auth.hpp"
#include "http/server/message.hpp"
#include "http/server/server.hpp"
#include "http/server/target.hpp"
#include "runtime/journal.hpp"
#include "runtime/node.hpp"
#include "runtime/time.hpp"

namespace ratchet {

class Metrics;
class Redactor;
class StoredCatalog;
class Users;
class Workers;
struct EventSources;

/// What handlers work with. All are borrowed.
struct Api {
  Node& node;
  Journal& journal;
  Clock& clock;
  StoredCatalog& catalog;
  Workers& workers;
  EventSources& events;
  Metrics& metrics;
  const Server& server;
  const std::atomic<bool>& draining;
  Users& users;
  std::shared_ptr<const Redactor> redactor;
};

/// One request on its way to an answer.
struct Call {
  Request request;
  Target target;
  std::vector<std::string> ids;  ///< what stands for the `{…}` of the pattern, in order
  Client client;                 ///< empty on open routes
  std::string request_id;
};

/// Answers a call: called exactly once, from any thread.
using Done = std::function<void(Result<Response>)>;

/// One of them is needed.
struct Roles {
  Roles(Role role) : any{role} {}  // NOLINT: most routes have one

  Roles(Role role, Role other) : any{role, other} {}

  std::vector<Role> any;
};

struct Route {
  std::string_view method;
  std::string_view pattern;                  ///< "/v1/runs/{run_id}"
  std::optional<Roles> roles;                ///< nothing: open to everybody
  std::vector<std::string_view> parameters;  ///< of the query; others are refused
  /// Called on a worker, so it may read the journal. Null: not part of this version.
  void (*handle)(Api& api, std::shared_ptr<const Call> call, Done done);
};

/// A handler that has its answer at once.
template <Result<Response> (*Answer)(Api& api, const Call& call)>
void now(Api& api, std::shared_ptr<const Call> call, Done done) {
  done(Answer(api, *call));
}

/// All routes.
const std::vector<Route>& routes();

// One function a resource; `routes` is their sum.
std::vector<Route> agent_routes();
std::vector<Route> approval_routes();
std::vector<Route> artifact_routes();
std::vector<Route> event_routes();
std::vector<Route> operation_routes();
std::vector<Route> diff_routes();
std::vector<Route> export_routes();
std::vector<Route> replay_routes();
std::vector<Route> search_routes();
std::vector<Route> state_routes();
std::vector<Route> run_routes();
std::vector<Route> steering_routes();
std::vector<Route> step_routes();
std::vector<Route> tool_routes();
std::vector<Route> usage_routes();
std::vector<Route> later_routes();

struct Match {
  const Route* route;
  std::vector<std::string> ids;
};

/// The methods that the path takes, as they stand in an `Allow` header.
struct OtherMethods {
  std::string allowed;
};

/// HEAD is answered as GET. Errors: not_found.
Result<std::variant<Match, OtherMethods>> find_route(std::string_view method, const Target& target);

/// Errors: invalid_request, with the name of a parameter that the route does not take.
Result<void> check_parameters(const Route& route, const Query& query);

Response json_response(int status, std::string body);

}  // namespace ratchet
