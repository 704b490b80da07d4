// For those who operate the server: is it up, is it ready, what is it doing, what does it offer.

#include "http/metrics.hpp"
#include "http/openapi.hpp"
#include "http/routes/route.hpp"
#include "http/server/event_stream.hpp"
#include "http/version.hpp"
#include "runtime/json/object.hpp"

namespace ratchet {

namespace {

Result<Response> health(Api&, const Call&) {
  return json_response(
      200, json_object([](JsonObject& body) { body.text("status", "ok").text("version", version); }));
}

std::string tier_json(const TierStatus& tier) {
  std::string weaker;
  for (const std::string& each : tier.weaker)
    append_json_string(weaker += weaker.empty() ? "" : ",", each);
  return json_object([&](JsonObject& body) {
    body.boolean("available", tier.available);
    if (!tier.runtime.empty()) body.text("runtime", tier.runtime);
    if (!tier.why.empty()) body.text("why", tier.why);
    body.raw("weaker", "[" + weaker + "]");
  });
}

/// A tier that is missing does not make a server unready: its tools are refused, everything else works.
Result<Response> readiness(Api& api, const Call&) {
  const auto journal = api.journal.health();
  const bool recovered = api.node.recovered(), draining = api.draining;
  const bool ready = journal.writable && recovered && !draining;
  auto response = json_response(ready ? 200 : 503, json_object([&](JsonObject& body) {
                                  body.text("status", ready ? "ready" : "not_ready")
                                      .boolean("journal_writable", journal.writable)
                                      .text("durability", journal.durability)
                                      .boolean("recovered", recovered)
                                      .boolean("draining", draining)
                                      .raw("sandboxes", json_object([&](JsonObject& tiers) {
                                             tiers.raw("tier2", tier_json(api.node.sandbox_tier(2)))
                                                 .raw("tier3", tier_json(api.node.sandbox_tier(3)));
                                           }));
                                }));
  if (!ready) response.headers.emplace_back("Retry-After", "1");
  return response;
}

Result<Response> metrics(Api& api, const Call&) {
  Response response;
  response.headers = {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}};
  response.body = api.metrics.render({.node = api.node.stats(),
                                      .journal = api.journal.health(),
                                      .server = api.server.counts(),
                                      .stream_overflows = api.events.counters.overflows});
  return response;
}

Result<Response> openapi(Api&, const Call&) {
  return json_response(200, std::string(openapi_json()));
}

}  // namespace

std::vector<Route> operation_routes() {
  return {
      {"GET", "/healthz", std::nullopt, {}, now<health>},
      {"GET", "/readyz", std::nullopt, {}, now<readiness>},
      {"GET", "/metrics", std::nullopt, {}, now<metrics>},
      {"GET", "/openapi.json", std::nullopt, {}, now<openapi>},
  };
}

}  // namespace ratchet
