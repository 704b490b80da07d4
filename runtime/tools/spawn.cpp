#include "runtime/tools/spawn.hpp"

#include "runtime/limits.hpp"
#include "runtime/tools/builtin_args.hpp"

namespace ratchet {

namespace {

constexpr FieldRule spawn_fields[] = {{"agent_id"}, {"input"}, {"budgets"}};
constexpr FieldRule budget_fields[] = {{"max_steps"}, {"max_tokens"}, {"max_seconds"}, {"max_usd"}};

void read_budgets(ObjectReader& budgets, SpawnArgs& spawn) {
  const auto number = [&](std::string_view field, std::int64_t max, std::optional<std::int64_t>& to) {
    if (budgets.has(field)) to = budgets.integer(field, 1, max, 1);
  };
  number("max_steps", limits::max_steps_max, spawn.max_steps);
  number("max_tokens", limits::max_tokens_max, spawn.max_tokens);
  number("max_seconds", limits::max_seconds_max, spawn.max_seconds);
  if (!budgets.has("max_usd")) return;
  const auto usd = parse_usd(budgets.text("max_usd", 1, 40));
  if (usd) {
    spawn.max_usd = *usd;
  } else {
    budgets.invalid("max_usd", "max_usd: " + usd.error().text);
  }
}

}  // namespace

Result<SpawnArgs> parse_spawn(std::string_view args_json) {
  SpawnArgs spawn;
  const auto error = read_args(args_json, spawn_fields, [&](ObjectReader& args) {
    spawn.agent_id = args.text("agent_id", 1, 64);
    spawn.input = args.text("input", 1, limits::child_input_bytes_max);
    ObjectReader budgets = args.object("budgets", budget_fields);
    read_budgets(budgets, spawn);
  });
  if (error) return fail(ErrorCode::invalid_request, invalid_args(*error).text);
  return spawn;
}

}  // namespace ratchet
