// What the API has and this version does not do yet. It is refused by name, on every verb, instead of looking
// like a mistyped path.

#include "http/routes/route.hpp"

namespace ratchet {

std::vector<Route> later_routes() {
  return {
      {"POST", "/v1/runs/{run_id}/replay", Role::launch, {}, nullptr},
      {"GET", "/v1/runs/{run_id}/diff", Role::read, {"against"}, nullptr},
      {"GET", "/v1/search/prompts", Role::read, {"hash", "limit", "cursor"}, nullptr},
      {"GET", "/", std::nullopt, {}, nullptr},  // the console
  };
}

}  // namespace ratchet
