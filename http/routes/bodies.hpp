#pragma once
// The bodies of requests about runs, read strictly: every field typed and bounded, unknown ones refused by
// name. Errors of all: unsupported_media_type, invalid_json, unknown_field, invalid_request, each with a
// pointer to the value.

#include <cstdint>
#include <optional>
#include <string>

#include "http/server/message.hpp"
#include "runtime/content.hpp"
#include "runtime/event/definitions.hpp"
#include "runtime/result.hpp"

namespace ratchet {

struct LoweredBudgets {
  std::optional<std::int64_t> max_steps, max_tokens, max_seconds;
  std::optional<Usd> max_usd;
};

struct StartBody {
  std::string agent_id;
  std::uint32_t agent_version = 0;  ///< 0: the one that serves
  Content input;
  std::string user_token;
  std::string idempotency_key;  ///< from the body or the header; empty: none
  LoweredBudgets budgets;
  Json metadata{"{}"};
  std::optional<std::uint64_t> seed;
  std::string canonical;  ///< the body without token and key: what makes two requests the same
};

Result<StartBody> read_start(const Request& request);

struct ReplayBody {
  std::uint32_t from_step = 1;
  Json patch{"{}"};              ///< canonical
  std::optional<Content> input;  ///< of the patch
  ReplayTools tools = ReplayTools::recorded;
  Nondeterminism nondeterminism = Nondeterminism::accept_divergence;
  std::string user_token;       ///< empty: none was given
  std::string idempotency_key;  ///< as of `StartBody`
  std::string canonical;        ///< likewise
};

/// What the patch says of the definition is looked at where the definition is known.
Result<ReplayBody> read_replay(const Request& request);

struct MessageBody {
  Content content;
  std::string idempotency_key;
};

Result<MessageBody> read_message(const Request& request);

/// The reason, which may be empty, as may the body.
Result<std::string> read_cancel(const Request& request);

struct ResolveBody {
  CallOutcome outcome = CallOutcome::happened;
  Content result;  ///< given where it happened, and only there
};

Result<ResolveBody> read_resolve(const Request& request);

struct DecisionBody {
  ApprovalDecision decision = ApprovalDecision::reject;
  std::optional<Json> edited_args;  ///< canonical
  std::optional<Hash> args_hash;
  std::string comment;
};

Result<DecisionBody> read_decision(const Request& request);

Result<std::string> read_user_token(const Request& request);

/// Accepts no body, or an empty object.
Result<void> read_nothing(const Request& request);

/// `application/json` and, where `yaml` is set, the names of YAML. A body without a type is taken for JSON.
enum class BodyType { json, yaml };
Result<BodyType> body_type(const Request& request, bool yaml);

}  // namespace ratchet
