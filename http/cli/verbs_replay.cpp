// Looking back at runs, and running them again.

#include <fstream>
#include <iterator>
#include <ostream>

#include <fmt/format.h>

#include "http/cli/fields.hpp"
#include "http/cli/verbs.hpp"
#include "runtime/json/canonical.hpp"
#include "runtime/json/object.hpp"

namespace ratchet::cli {

namespace {

std::string replay_body(const ReplayOptions& options, const std::string& patch) {
  return json_object([&](JsonObject& body) {
    body.number("from_step", options.from_step)
        .text("tools", options.tools)
        .text("nondeterminism", options.nondeterminism);
    if (!patch.empty()) body.raw("patch", patch);
    if (!options.user_token.empty()) body.text("user_token", options.user_token);
    if (!options.idempotency_key.empty()) body.text("idempotency_key", options.idempotency_key);
  });
}

}  // namespace

Done replay_run(Context& context, const std::string& run_id, const ReplayOptions& options) {
  std::string patch;
  if (!options.patch.empty()) {
    auto text = read_argument(options.patch);
    if (!text) return tl::unexpected(text.error());
    auto json = canonical_object(*text);
    if (!json) return failed(ExitStatus::usage, "--patch: " + json.error().text);
    patch = std::move(*json);
  }
  const auto reply =
      context.api.post(fmt::format("/v1/runs/{}/replay", encoded(run_id)), replay_body(options, patch));
  if (!reply) return tl::unexpected(reply.error());
  return follow_started(context, *reply, options.detach);
}

Done show_step(Context& context, const std::string& run_id, std::uint32_t step) {
  const auto reply = context.api.get(fmt::format("/v1/runs/{}/steps/{}", encoded(run_id), step));
  if (!reply) return tl::unexpected(reply.error());
  if (context.json) {
    context.out << *reply << "\n";
    return ExitStatus::done;
  }
  const Fields fields(*reply);
  const auto of_step = [&](std::string_view name) {
    return harmless(fields.text(fmt::format("step/{}", name)));
  };
  context.out << fmt::format("step {} of {}: {} ({}), {} attempts, {} tokens in, {} out, ${}, {} ms\n",
                             step,
                             run_id,
                             of_step("model"),
                             of_step("provider"),
                             of_step("attempts"),
                             of_step("usage/input_tokens"),
                             of_step("usage/output_tokens"),
                             of_step("cost_usd"),
                             of_step("latency_ms"));
  context.out << "prompt " << of_step("prompt_hash") << "\n";
  if (const auto workspace = fields.text("workspace"); !workspace.empty())
    context.out << "workspace " << harmless(workspace) << "\n";
  EventPrinter printer(context.out, context.style);
  for (const std::string& event : fields.texts("events"))
    printer.event(Fields(event).text("type"), event);
  return ExitStatus::done;
}

Done export_run(Context& context, const std::string& run_id, const std::string& file, bool full) {
  const auto reply =
      context.api.get(fmt::format("/v1/runs/{}/export{}", encoded(run_id), full ? "?full=true" : ""));
  if (!reply) return tl::unexpected(reply.error());
  if (file.empty()) {
    context.out << *reply << std::flush;
    return ExitStatus::done;
  }
  std::ofstream to(file, std::ios::binary | std::ios::trunc);
  to << *reply;
  to.close();
  if (!to) return failed(ExitStatus::usage, file + " cannot be written");
  context.out << fmt::format("{}: {} bytes\n", file, reply->size());
  return ExitStatus::done;
}

Done import_run(Context& context, const std::string& file) {
  std::ifstream from(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(from), std::istreambuf_iterator<char>()};
  if (!from.is_open() || from.bad()) return failed(ExitStatus::usage, file + " cannot be read");
  const auto reply = context.api.post_bytes("/v1/runs/import", bytes);
  if (!reply) return tl::unexpected(reply.error());
  context.out << (context.json ? *reply : harmless(Fields(*reply).text("run_id"))) << "\n";
  return ExitStatus::done;
}

Done diff_runs(Context& context, const std::string& run_id, const std::string& against) {
  const auto reply =
      context.api.get(fmt::format("/v1/runs/{}/diff?against={}", encoded(run_id), encoded(against)));
  if (!reply) return tl::unexpected(reply.error());
  if (context.json)
    context.out << *reply << "\n";
  else
    print_diff(context.out, context.style, *reply);
  return ExitStatus::done;
}

}  // namespace ratchet::cli
