#pragma once
// The words between us and a policy decision point: the Access Evaluation API of AuthZEN 1.0, or the data API
// of Open Policy Agent. Pure; `actors/call_judge` sends and receives them.
//
// A point permits by saying `true` and nothing that we would have to understand. Everything else is a denial
// that says why: a fault, a timeout, another status, a text that is no answer, an obligation.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/result.hpp"
#include "runtime/tools/connector.hpp"
#include "runtime/tools/facts.hpp"

namespace ratchet {

struct DecisionPointAddress {
  enum class Protocol { authzen, opa } protocol = Protocol::authzen;
  std::string url;        ///< of `parse_url`'s kind, without a slash at its end
  std::string path = {};  ///< of opa: the rule, `package/rule`
  std::int64_t timeout_ms = 1'000;
  std::string api_key = {};  ///< a secret, sent as a bearer; empty: none
};

/// Where the point takes which question.
struct DecisionEndpoints {
  std::string evaluation;
  std::string evaluations;  ///< several at once; empty: not offered

  bool operator==(const DecisionEndpoints&) const = default;
};

/// The ones that the protocols name, for a point that says nothing else.
DecisionEndpoints usual_endpoints(const DecisionPointAddress& point);

/// The question for the metadata of an AuthZEN point (section 9 of its specification).
ConnectorCall metadata_call(const DecisionPointAddress& point);
/// Nothing, if there is none. Errors, each a reason to stay with the usual endpoints: unavailable metadata;
/// metadata that name another point, or endpoints on another server than the one that was configured.
Result<std::optional<DecisionEndpoints>> read_metadata(const DecisionPointAddress& point,
                                                       const ConnectorOutcome& outcome);

/// The question about one call.
ConnectorCall evaluation_call(const DecisionPointAddress& point,
                              const DecisionEndpoints& endpoints,
                              const JudgeQuestion& question);
AuthorizerFacts read_evaluation(const DecisionPointAddress& point, const ConnectorOutcome& outcome);

/// The question about several calls of one reply, where `endpoints.evaluations` is offered.
ConnectorCall evaluations_call(const DecisionPointAddress& point,
                               const DecisionEndpoints& endpoints,
                               std::span<const JudgeQuestion> questions);
/// One for each question, in their order.
std::vector<AuthorizerFacts> read_evaluations(const ConnectorOutcome& outcome, std::size_t questions);

}  // namespace ratchet
