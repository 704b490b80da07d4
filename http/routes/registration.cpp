#include "http/routes/registration.hpp"

#include "http/routes/bodies.hpp"
#include "http/server/workers.hpp"
#include "runtime/yaml.hpp"

namespace ratchet {

namespace {

constexpr int attempts_max = 32;  // as many registrations of one thing may race

void attempt(Api& api, Plan plan, Registered answer, Done done, int attempts) {
  auto planned = plan();
  if (!planned) return done(tl::unexpected(planned.error()));
  if (planned->puts.empty()) return done(answer(planned->entry, false));
  auto puts = std::move(planned->puts);
  api.node.put_definitions(std::move(puts),
                           [&api,
                            plan = std::move(plan),
                            answer = std::move(answer),
                            done = std::move(done),
                            entry = std::move(planned->entry),
                            attempts](Result<Committed> committed) {
                             if (committed) return done(answer(entry, true));
                             const bool again = committed.error().code == ErrorCode::conflict && attempts > 1;
                             // Planning reads the journal, and this is the node's thread.
                             const bool posted =
                                 again && api.workers.post([&api, plan, answer, done, attempts] {
                                   attempt(api, plan, answer, done, attempts - 1);
                                 });
                             if (!posted) done(tl::unexpected(committed.error()));
                           });
}

}  // namespace

void register_definition(Api& api, Plan plan, Registered answer, Done done) {
  attempt(api, std::move(plan), std::move(answer), std::move(done), attempts_max);
}

Result<DefinitionBody> read_definition(const Request& request) {
  const auto type = body_type(request, true);
  if (!type) return tl::unexpected(type.error());
  if (*type == BodyType::json) return DefinitionBody{request.body, [](Error error) { return error; }};
  auto document = parse_yaml(request.body);
  if (!document) return tl::unexpected(document.error());
  auto shared = std::make_shared<const YamlDocument>(std::move(*document));
  return DefinitionBody{shared->json, [shared](Error error) { return shared->at_line(std::move(error)); }};
}

}  // namespace ratchet
