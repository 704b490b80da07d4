// Whatever a decision point or a token endpoint answers: a permission needs the plain word for it, and
// nothing of the answer is repeated at length or unbounded.

#include <cstdint>
#include <string>

#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"
#include "runtime/tools/authzen.hpp"
#include "runtime/tools/token_exchange.hpp"

namespace ratchet {
namespace {

void check_decision(const AuthorizerFacts& facts, const std::string& body, std::string_view word) {
  RATCHET_ENSURE(!facts.word.empty() && facts.word.size() <= limits::decision_word_bytes_max + 100 &&
                     is_valid_utf8(facts.word),
                 "a word is empty, too long or not valid UTF-8");
  if (!facts.allowed) return;
  RATCHET_ENSURE(
      facts.word == "ok" && body.find("true") != std::string::npos && body.find(word) != std::string::npos,
      "a permission without the word for it");
}

void check(const std::uint8_t* data, std::size_t size) {
  ConnectorOutcome outcome;
  outcome.kind = ConnectorOutcome::Kind::answered;
  outcome.status = 200;
  outcome.body.assign(reinterpret_cast<const char*>(data), size);
  // An escape may spell the words otherwise.
  const bool plain = outcome.body.find('\\') == std::string::npos;

  DecisionPointAddress point{.url = "https://pdp"};
  const auto decision = read_evaluation(point, outcome);
  if (plain) check_decision(decision, outcome.body, "\"decision\"");
  const auto many = read_evaluations(outcome, 2);
  RATCHET_ENSURE(many.size() == 2, "not one word for each question");
  for (const auto& each : many)
    if (plain) check_decision(each, outcome.body, "\"decision\"");
  point.protocol = DecisionPointAddress::Protocol::opa;
  const auto rule = read_evaluation(point, outcome);
  if (plain) check_decision(rule, outcome.body, "\"result\"");
  (void)read_metadata(point, outcome);

  const auto exchange = read_exchange(outcome);
  const bool taken = exchange.kind == ExchangeAnswer::Kind::token;
  RATCHET_ENSURE(taken == !exchange.token.empty() && taken == exchange.why.empty(),
                 "an answer is a token or a reason");
  outcome.status = 400;
  RATCHET_ENSURE(read_exchange(outcome).kind != ExchangeAnswer::Kind::token, "a refusal became a token");
}

}  // namespace
}  // namespace ratchet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ratchet::check(data, size);
  return 0;
}
