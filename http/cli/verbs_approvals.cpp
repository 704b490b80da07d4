// Deciding what waits for a person.

#include <ostream>

#include <fmt/format.h>

#include "http/cli/fields.hpp"
#include "http/cli/verbs.hpp"
#include "runtime/json/writer.hpp"

namespace ratchet::cli {

namespace {

std::string approval_path(const ApprovalOptions& options) {
  return fmt::format("/v1/runs/{}/approvals/{}", encoded(options.run_id), encoded(options.approval_id));
}

}  // namespace

Done list_approvals(Context& context, const ApprovalOptions& options) {
  auto path = fmt::format("/v1/approvals?limit={}", options.limit);
  const std::pair<const char*, const std::string&> filters[] = {
      {"status", options.status}, {"run_id", options.run_id}, {"cursor", options.cursor}};
  for (const auto& [name, value] : filters)
    if (!value.empty()) path += fmt::format("&{}={}", name, encoded(value));
  const auto reply = context.api.get(path);
  if (!reply) return tl::unexpected(reply.error());
  if (context.json)
    context.out << *reply << "\n";
  else
    print_approvals(context.out, *reply);
  return ExitStatus::done;
}

Done show_approval(Context& context, const ApprovalOptions& options) {
  const auto reply = context.api.get(approval_path(options));
  if (!reply) return tl::unexpected(reply.error());
  if (context.json)
    context.out << *reply << "\n";
  else
    print_value(context.out, *reply);
  return ExitStatus::done;
}

Done decide_approval(Context& context, const ApprovalOptions& options, bool approve) {
  std::string json = fmt::format("{{\"decision\":\"{}\"", approve ? "approve" : "reject");
  if (!options.comment.empty()) append_json_string(json += ",\"comment\":", options.comment);
  if (!options.args_hash.empty()) append_json_string(json += ",\"args_hash\":", options.args_hash);
  if (!options.edited_args.empty()) {
    const auto edited = read_argument(options.edited_args);
    if (!edited) return tl::unexpected(edited.error());
    json += ",\"edited_args\":" + *edited;  // the server says what is wrong with it, if it is no object
  }
  const auto reply = context.api.post(approval_path(options), json + "}");
  if (!reply) return tl::unexpected(reply.error());
  if (context.json)
    context.out << *reply << "\n";
  else
    context.out << options.approval_id << (approve ? " approved, arguments " : " rejected, arguments ")
                << harmless(Fields(*reply).text("effective_args_hash")) << "\n";
  return ExitStatus::done;
}

}  // namespace ratchet::cli
