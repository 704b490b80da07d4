// Looking for prompts across the team's runs.

#include <fmt/format.h>

#include "http/routes/parameters.hpp"
#include "http/routes/route.hpp"
#include "runtime/json/object.hpp"
#include "runtime/replay/prompt_search.hpp"

namespace ratchet {

namespace {

std::string cursor_of(const PromptUse& use) {
  return fmt::format("{}/{}", to_string(use.run_id), use.step);
}

Result<PromptUse> read_cursor(std::string_view text) {
  const auto slash = text.find('/');
  const auto run = parse_id<RunKind>(text.substr(0, slash));
  const auto step = version_of(slash == std::string_view::npos ? "" : text.substr(slash + 1));
  if (!run || !step) return fail(ErrorCode::invalid_cursor, "the cursor names no step of a run");
  return PromptUse{*run, *step};
}

Result<Response> prompts(Api& api, const Call& call) {
  const auto page = Page::of(call);
  if (!page) return tl::unexpected(page.error());
  const auto hash = call.target.query.get("hash");
  if (!hash) return fail(ErrorCode::invalid_request, "hash: the prompt's hash is needed");
  PromptQuery query;
  query.team = call.client.team;
  const auto parsed = parse_hash(*hash);
  if (!parsed) return fail(ErrorCode::invalid_request, "hash: expected the 64 hex digits of a prompt_hash");
  query.prompt_hash = *parsed;
  if (!page->after().empty()) {
    const auto after = read_cursor(page->after());
    if (!after) return tl::unexpected(after.error());
    query.after = *after;
  }
  query.limit = page->limit();
  const auto found = find_prompt(api.journal, query);
  if (!found) return tl::unexpected(found.error());
  std::string items;
  append_json_array(items, found->uses, [](std::string& out, const PromptUse& use) {
    out += json_object(
        [&](JsonObject& item) { item.text("run_id", to_string(use.run_id)).number("step", use.step); });
  });
  return page->answer(items, found->next ? cursor_of(*found->next) : "");
}

}  // namespace

std::vector<Route> search_routes() {
  return {{"GET", "/v1/search/prompts", Role::read, {"hash", "limit", "cursor"}, now<prompts>}};
}

}  // namespace ratchet
