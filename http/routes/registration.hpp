#pragma once
// Registering a definition: plan, commit, and plan again where somebody else took the number meanwhile.

#include <functional>
#include <memory>

#include "http/catalog.hpp"
#include "http/routes/route.hpp"

namespace ratchet {

/// Makes a plan from what is stored now. Runs on a worker, perhaps several times.
using Plan = std::function<Result<Registration>()>;
/// Answers with what is registered; `created` says whether this request did it.
using Registered = std::function<Response(const IndexEntry& entry, bool created)>;

void register_definition(Api& api, Plan plan, Registered answer, Done done);

/// The body as JSON, converted from YAML by content type. Errors of a definition name its line then:
/// `at_line`. Errors: unsupported_media_type, invalid_yaml.
struct DefinitionBody {
  std::string json;
  std::function<Error(Error)> at_line;
};

Result<DefinitionBody> read_definition(const Request& request);

}  // namespace ratchet
