// What was used, by whom and for what: sums over the rows of the team's runs.

#include <array>
#include <map>

#include <fmt/format.h>

#include "http/routes/parameters.hpp"
#include "http/routes/route.hpp"
#include "runtime/json/object.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

constexpr std::array<std::string_view, 6> group_names = {"team", "agent", "version", "user", "model", "day"};

std::string group_value(const RunRow& row, std::string_view group) {
  if (group == "team") return row.team;
  if (group == "agent") return row.agent_id;
  if (group == "version") return std::to_string(row.agent_version);
  if (group == "user") return row.user_id;
  if (group == "model") return row.model;
  return to_string(row.created_at).substr(0, 10);  // the day, in UTC
}

struct Sum {
  std::int64_t runs = 0;
  std::int64_t steps = 0;
  Usage usage;
  Usd cost_usd;
};

using Sums = std::map<std::vector<std::string>, Sum>;

/// Reads all rows of the query, page by page. Errors: invalid_request, when there are more than are scanned.
Result<Sums> add_up(JournalReader& journal, RunQuery query, const std::vector<std::string_view>& groups) {
  Sums sums;
  std::size_t scanned = 0;
  query.limit = limits::list_items_max;
  while (true) {
    const auto rows = journal.list(query);
    if (!rows) return tl::unexpected(rows.error());
    for (const auto& row : *rows) {
      if (row.imported_at) continue;  // spent elsewhere
      std::vector<std::string> key;
      for (const auto group : groups)
        key.push_back(group_value(row, group));
      auto& sum = sums[std::move(key)];
      ++sum.runs;
      sum.steps += row.step;
      sum.usage += row.usage;
      sum.cost_usd += row.cost_usd;
    }
    if (rows->size() < query.limit) return sums;
    scanned += rows->size();
    if (scanned >= limits::scanned_rows_max)
      return fail(
          ErrorCode::invalid_request,
          fmt::format("more than {} runs lie between since and until; ask for a shorter time", scanned));
    query.after = rows->back().run_id;
  }
}

std::string render(const std::vector<std::string_view>& groups,
                   const std::vector<std::string>& key,
                   const Sum& sum) {
  return json_object([&](JsonObject& item) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups[i] == "version")
        item.raw(groups[i], key[i]);
      else
        item.text(groups[i], key[i]);
    }
    item.number("runs", sum.runs)
        .number("steps", sum.steps)
        .number("input_tokens", sum.usage.input)
        .number("cached_input_tokens", sum.usage.cached_input)
        .number("cache_write_tokens", sum.usage.cache_write)
        .number("output_tokens", sum.usage.output)
        .money("cost_usd", sum.cost_usd);
  });
}

Result<Response> usage(Api& api, const Call& call) {
  const auto& parameters = call.target.query;
  const auto since = time_parameter(parameters, "since"), until = time_parameter(parameters, "until");
  if (!since) return tl::unexpected(since.error());
  if (!until) return tl::unexpected(until.error());
  const auto wanted = words_parameter(parameters, "group_by", {group_names.begin(), group_names.end()});
  if (!wanted) return tl::unexpected(wanted.error());
  std::vector<std::string_view> groups;
  for (const auto group : group_names)
    if (wanted->contains(std::string(group))) groups.push_back(group);
  RunQuery query;
  query.team = call.client.team;
  query.since = *since;
  query.until = *until;
  const auto sums = add_up(api.journal, std::move(query), groups);
  if (!sums) return tl::unexpected(sums.error());
  return json_response(200, json_object([&](JsonObject& body) {
                         append_json_array(body.key("items"), *sums, [&](std::string& out, const auto& each) {
                           out += render(groups, each.first, each.second);
                         });
                         body.null("next_cursor");
                       }));
}

}  // namespace

std::vector<Route> usage_routes() {
  return {{"GET", "/v1/usage", Role::read, {"group_by", "since", "until"}, now<usage>}};
}

}  // namespace ratchet
