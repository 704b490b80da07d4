// What it costs to hold the arguments of a call against the tool's schema.

#include "runtime/tools/schema.hpp"

#include <benchmark/benchmark.h>

namespace ratchet::bench {

namespace {

constexpr std::string_view email_schema = R"({
  "type": "object", "required": ["recipients", "subject", "body"], "additionalProperties": false, "properties": {
    "recipients": {"type": "array", "minItems": 1, "maxItems": 10,
                   "items": {"type": "string", "pattern": "^[^@ ]+@[^@ ]+$", "maxLength": 254}},
    "subject": {"type": "string", "minLength": 1, "maxLength": 200},
    "body": {"type": "string", "maxLength": 10000},
    "priority": {"enum": ["low", "normal", "high"]},
    "delay_seconds": {"type": "integer", "minimum": 0, "maximum": 86400}}})";

constexpr std::string_view email_args =
    R"({"recipients": ["ada@example.org", "grace@example.org"], "subject": "Your order 4711",
        "body": "Dear customer, your order has left our warehouse and will be with you in two days. Kind regards.",
        "priority": "normal", "delay_seconds": 60})";

void CompileSchema(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(ArgumentSchema::compile(email_schema));
}

void check(benchmark::State& state, std::string_view schema, std::string_view args, bool fits) {
  const auto compiled = ArgumentSchema::compile(schema);
  if (!compiled || compiled->check(args).has_value() == fits) return state.SkipWithError("the wrong verdict");
  for (auto _ : state)
    benchmark::DoNotOptimize(compiled->check(args));
}

void CheckCall(benchmark::State& state) {
  check(state, email_schema, email_args, true);
}

void CheckCallThatDoesNotFit(benchmark::State& state) {
  check(state, email_schema, R"({"recipients": "ada@example.org", "subject": "", "text": "Hello."})", false);
}

BENCHMARK(CompileSchema);
BENCHMARK(CheckCall);
BENCHMARK(CheckCallThatDoesNotFit);

}  // namespace

}  // namespace ratchet::bench
