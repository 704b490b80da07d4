#include "http/routes/bodies.hpp"

#include <algorithm>
#include <array>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "http/server/ascii.hpp"
#include "runtime/definition_reader.hpp"
#include "runtime/ids.hpp"
#include "runtime/json/canonical.hpp"
#include "runtime/json/dom.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

constexpr std::int64_t json_integer_max = (1ll << 53) - 1;  // beyond, JSON's numbers are not exact
constexpr std::size_t reason_bytes_max = 1'024;
constexpr std::size_t blocks_max = 1'000;
/// What both providers take.
constexpr std::array<std::string_view, 4> image_types = {
    "image/png", "image/jpeg", "image/gif", "image/webp"};

/// What a definition calls senseless (422) is a malformed request here.
tl::unexpected<Error> as_request_error(Error error) {
  if (error.code == ErrorCode::invalid_definition) error.code = ErrorCode::invalid_request;
  return tl::unexpected(std::move(error));
}

Result<boost::json::value> parse_body(const Request& request) {
  const auto type = body_type(request, false);
  if (!type) return tl::unexpected(type.error());
  return parse_json(request.body);
}

/// Reads a body by `fill(reader)`.
template <class Fill>
Result<void> read_object(const boost::json::value& value, std::span<const FieldRule> rules, Fill fill) {
  std::optional<Error> error;
  ObjectReader reader(value, "", rules, error);
  fill(reader);
  if (error) return as_request_error(std::move(*error));
  return {};
}

template <class Fill>
Result<void> read_body(const Request& request, std::span<const FieldRule> rules, Fill fill) {
  const auto value = parse_body(request);
  if (!value) return tl::unexpected(value.error());
  return read_object(*value, rules, fill);
}

bool is_base64(std::string_view text) {
  const auto padding = text.ends_with("==") ? 2u : text.ends_with('=') ? 1u : 0u;
  return text.size() % 4 == 0 &&
         std::ranges::all_of(text.substr(0, text.size() - padding), [](unsigned char c) {
           return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
                  c == '/';
         });
}

Block read_block(ObjectReader reader) {
  Block block;
  block.type = reader.choice<BlockType>("type");
  if (block.type == BlockType::text) {
    block.text = reader.text("text", 1, limits::request_bytes_max);
    for (const char* other : {"media_type", "data"})
      if (reader.has(other)) reader.refuse(ErrorCode::invalid_request, other, "a text has only text");
  } else {
    block.media_type = reader.text("media_type", 1, 64);
    if (std::ranges::find(image_types, block.media_type) == image_types.end())
      reader.invalid("media_type",
                     fmt::format("media_type: expected one of {}", fmt::join(image_types, ", ")));
    block.text = reader.text("data", 1, limits::request_bytes_max);
    if (!is_base64(block.text))
      reader.invalid("data", "data: expected base64 (RFC 4648, 4), padded and in one piece");
    if (reader.has("text")) reader.refuse(ErrorCode::invalid_request, "text", "an image has data, no text");
  }
  return block;
}

/// A text, or a list of blocks.
Content read_content(ObjectReader& reader, std::string_view field) {
  static constexpr std::array<FieldRule, 4> rules = {{{"type"}, {"text"}, {"media_type"}, {"data"}}};
  const auto* value = reader.find(field);
  if (value && value->is_string()) return text_content(reader.text(field, 1, limits::request_bytes_max));
  Content content;
  if (value && !value->is_array()) {
    reader.refuse(
        ErrorCode::invalid_request,
        field,
        fmt::format("{}: expected a string or a list of blocks, found {}", field, kind_name(*value)));
    return content;
  }
  for (const auto* item : reader.array(field, blocks_max, true))
    content.push_back(read_block(reader.item(*item, field, content.size(), rules)));
  if (content.empty()) reader.invalid(field, fmt::format("{}: expected at least one block", field));
  return content;
}

Usd read_usd(ObjectReader& reader, std::string_view field) {
  const auto amount = parse_usd(reader.text(field, 1, 32));
  if (amount) return *amount;
  reader.invalid(field, fmt::format("{}: expected dollars as a string, like \"0.50\"", field));
  return {};
}

LoweredBudgets read_budgets(ObjectReader& body) {
  static constexpr std::array<FieldRule, 4> rules = {
      {{"max_steps"}, {"max_tokens"}, {"max_seconds"}, {"max_usd"}}};
  auto reader = body.object("budgets", rules);
  LoweredBudgets budgets;
  const auto integer = [&](std::string_view field) -> std::optional<std::int64_t> {
    if (!reader.has(field)) return std::nullopt;
    return reader.integer(field, 0, json_integer_max);
  };
  budgets.max_steps = integer("max_steps");
  budgets.max_tokens = integer("max_tokens");
  budgets.max_seconds = integer("max_seconds");
  if (reader.has("max_usd")) budgets.max_usd = read_usd(reader, "max_usd");
  return budgets;
}

/// An object of texts, as canonical JSON.
Json read_metadata(ObjectReader& body) {
  if (!body.has("metadata")) return Json{"{}"};
  for (const auto& [name, value] : body.members("metadata", limits::labels_bytes_max))
    if (!value->is_string())
      body.invalid("metadata", fmt::format("metadata: '{}' has to be a string", name.substr(0, 60)));
  Json metadata{body.json("metadata")};
  if (metadata.text.size() > limits::labels_bytes_max)
    body.invalid(
        "metadata",
        fmt::format(
            "metadata: expected at most {} bytes, found {}", limits::labels_bytes_max, metadata.text.size()));
  return metadata;
}

tl::unexpected<Error> bad_header(std::string why) {
  return fail(ErrorCode::invalid_request, "Idempotency-Key: " + std::move(why));
}

/// The value of the header: a quoted string (RFC 8941) or, as most clients send it, bare.
Result<std::string> key_of_header(std::string_view value) {
  std::string key;
  if (!value.starts_with('"')) {
    key = std::string(value);
  } else {
    if (value.size() < 2 || !value.ends_with('"')) return bad_header("the quotes do not match");
    value = value.substr(1, value.size() - 2);
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (value[i] == '"') return bad_header("a quote in the key is written \\\"");
      if (value[i] == '\\' && (++i == value.size() || (value[i] != '"' && value[i] != '\\')))
        return bad_header("a backslash stands before \" and \\ only");
      key += value[i];
    }
  }
  if (key.empty() || key.size() > limits::idempotency_key_bytes_max)
    return bad_header(
        fmt::format("expected 1 to {} bytes, found {}", limits::idempotency_key_bytes_max, key.size()));
  return key;
}

/// The key of the body or of the header; both may be given if they are the same.
Result<std::string> merge_key(const Request& request, std::string of_body) {
  const auto header = request.header("Idempotency-Key");
  if (!header) return of_body;
  if (request.count("Idempotency-Key") > 1) return bad_header("given more than once");
  auto of_header = key_of_header(*header);
  if (!of_header) return of_header;
  if (!of_body.empty() && of_body != *of_header)
    return fail(ErrorCode::invalid_request,
                "the idempotency key of the body is not that of the header",
                "/idempotency_key");
  return of_header;
}

std::string read_key(ObjectReader& reader) {
  if (!reader.has("idempotency_key")) return {};
  return reader.text("idempotency_key", 1, limits::idempotency_key_bytes_max);
}

std::string canonical_without_secrets(boost::json::value body) {
  auto& object = body.as_object();
  for (const char* secret : {"user_token", "idempotency_key"})
    if (const auto at = object.find(secret); at != object.end()) object.stable_erase(at);
  std::string text;
  append_json(text, body);
  return text;
}

}  // namespace

Result<BodyType> body_type(const Request& request, bool yaml) {
  auto type = request.header("Content-Type").value_or("application/json");
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' '))
    type.remove_suffix(1);
  if (same_ignoring_case(type, "application/json")) return BodyType::json;
  if (yaml)
    for (const char* known : {"application/yaml", "application/x-yaml", "text/yaml"})
      if (same_ignoring_case(type, known)) return BodyType::yaml;
  return fail(ErrorCode::unsupported_media_type,
              fmt::format("expected a body of type application/json{}, found '{}'",
                          yaml ? " or application/yaml" : "",
                          type.substr(0, 100)));
}

Result<StartBody> read_start(const Request& request) {
  static constexpr std::array<FieldRule, 8> rules = {{{"agent_id"},
                                                      {"agent_version"},
                                                      {"input"},
                                                      {"user_token"},
                                                      {"idempotency_key"},
                                                      {"budgets"},
                                                      {"metadata"},
                                                      {"seed"}}};
  auto value = parse_body(request);
  if (!value) return tl::unexpected(value.error());
  StartBody body;
  const auto read = read_object(*value, rules, [&](ObjectReader& reader) {
    body.agent_id = reader.text("agent_id", 1, 255);
    body.agent_version = static_cast<std::uint32_t>(reader.integer("agent_version", 1, UINT32_MAX, 0));
    body.input = read_content(reader, "input");
    body.user_token = reader.text("user_token", 1, limits::user_token_bytes_max);
    body.idempotency_key = read_key(reader);
    body.budgets = read_budgets(reader);
    body.metadata = read_metadata(reader);
    if (reader.has("seed"))
      body.seed = static_cast<std::uint64_t>(reader.integer("seed", 0, json_integer_max));
  });
  if (!read) return tl::unexpected(read.error());
  if (!is_name(body.agent_id))
    return fail(ErrorCode::invalid_id, "agent_id: an agent is named [a-z][a-z0-9_-]{0,63}", "/agent_id");
  auto key = merge_key(request, std::move(body.idempotency_key));
  if (!key) return tl::unexpected(key.error());
  body.idempotency_key = std::move(*key);
  body.canonical = canonical_without_secrets(std::move(*value));
  return body;
}

namespace {

/// The patch as JSON; of its members only those that are no part of a definition are looked at here.
void read_patch(ObjectReader& body, ReplayBody& to) {
  static constexpr std::array<FieldRule, 7> rules = {
      {{"system_prompt"}, {"model"}, {"tools"}, {"policy"}, {"budgets"}, {"input"}, {"mocks"}}};
  auto patch = body.object("patch", rules);
  if (patch.has("input")) to.input = read_content(patch, "input");
  const auto mocks = patch.members("mocks", SIZE_MAX);
  for (const auto& [tool, result] : mocks)
    if (!is_name(tool))
      patch.invalid("mocks", fmt::format("mocks: '{}' is no name of a tool", tool.substr(0, 60)));
  if (body.has("patch")) to.patch.text = body.json("patch");
}

}  // namespace

Result<ReplayBody> read_replay(const Request& request) {
  static constexpr std::array<FieldRule, 6> rules = {
      {{"from_step"}, {"patch"}, {"tools"}, {"nondeterminism"}, {"user_token"}, {"idempotency_key"}}};
  auto value = parse_body(request);
  if (!value) return tl::unexpected(value.error());
  ReplayBody body;
  const auto read = read_object(*value, rules, [&](ObjectReader& reader) {
    body.from_step = static_cast<std::uint32_t>(reader.integer("from_step", 1, UINT32_MAX));
    read_patch(reader, body);
    body.tools = reader.choice<ReplayTools>("tools");
    body.nondeterminism = reader.choice<Nondeterminism>("nondeterminism");
    if (reader.has("user_token"))
      body.user_token = reader.text("user_token", 1, limits::user_token_bytes_max);
    body.idempotency_key = read_key(reader);
  });
  if (!read) return tl::unexpected(read.error());
  if (body.patch.text.size() > limits::replay_patch_bytes_max)
    return fail(ErrorCode::not_replayable,
                fmt::format("the patch has {} bytes; at most {} are taken",
                            body.patch.text.size(),
                            limits::replay_patch_bytes_max),
                "/patch");
  auto key = merge_key(request, std::move(body.idempotency_key));
  if (!key) return tl::unexpected(key.error());
  body.idempotency_key = std::move(*key);
  body.canonical = canonical_without_secrets(std::move(*value));
  return body;
}

Result<MessageBody> read_message(const Request& request) {
  static constexpr std::array<FieldRule, 2> rules = {{{"content"}, {"idempotency_key"}}};
  MessageBody body;
  const auto read = read_body(request, rules, [&](ObjectReader& reader) {
    body.content = read_content(reader, "content");
    body.idempotency_key = read_key(reader);
  });
  if (!read) return tl::unexpected(read.error());
  auto key = merge_key(request, std::move(body.idempotency_key));
  if (!key) return tl::unexpected(key.error());
  body.idempotency_key = std::move(*key);
  return body;
}

Result<std::string> read_cancel(const Request& request) {
  static constexpr std::array<FieldRule, 1> rules = {{{"reason"}}};
  std::string reason;
  if (request.body.empty()) return reason;
  const auto read = read_body(
      request, rules, [&](ObjectReader& reader) { reason = reader.text("reason", 0, reason_bytes_max, ""); });
  if (!read) return tl::unexpected(read.error());
  return reason;
}

Result<ResolveBody> read_resolve(const Request& request) {
  static constexpr std::array<FieldRule, 2> rules = {{{"outcome"}, {"result"}}};
  ResolveBody body;
  const auto read = read_body(request, rules, [&](ObjectReader& reader) {
    body.outcome = reader.choice<CallOutcome>("outcome");
    const bool happened = body.outcome == CallOutcome::happened;
    if (happened && !reader.has("result"))
      reader.invalid("", "a call that happened needs a result for the model");
    if (!happened && reader.has("result"))
      reader.invalid("result", "result: a call that did not happen is executed again and brings its own");
    if (happened && reader.has("result")) body.result = read_content(reader, "result");
  });
  if (!read) return tl::unexpected(read.error());
  return body;
}

Result<DecisionBody> read_decision(const Request& request) {
  static constexpr std::array<FieldRule, 4> rules = {
      {{"decision"}, {"edited_args"}, {"comment"}, {"args_hash"}}};
  DecisionBody body;
  const auto read = read_body(request, rules, [&](ObjectReader& reader) {
    body.decision = reader.choice<ApprovalDecision>("decision");
    body.comment = reader.text("comment", 0, limits::approval_comment_bytes_max, "");
    if (reader.has("args_hash")) {
      const auto hash = parse_hash(reader.text("args_hash", 64, 64));
      if (hash)
        body.args_hash = *hash;
      else
        reader.invalid("args_hash", "args_hash: expected 64 lower-case hex digits");
    }
    if (!reader.has("edited_args")) return;
    if (body.decision == ApprovalDecision::reject)
      reader.invalid("edited_args", "edited_args: what is rejected does not run, edited or not");
    if (!reader.find("edited_args")->is_object())
      reader.invalid("edited_args", "edited_args: expected an object");
    const auto canonical = canonical_json(reader.json("edited_args"));
    if (!canonical) return reader.invalid("edited_args", "edited_args: " + canonical.error().text);
    body.edited_args = Json{*canonical};
    // Somebody edited what they were shown redacted: the marker would be sent in place of the value.
    if (body.edited_args->text.find("[redacted") != std::string::npos)
      reader.invalid("edited_args", "edited_args: they hold a redaction marker; give the value itself");
  });
  if (!read) return tl::unexpected(read.error());
  return body;
}

Result<std::string> read_user_token(const Request& request) {
  static constexpr std::array<FieldRule, 1> rules = {{{"user_token"}}};
  std::string token;
  const auto read = read_body(request, rules, [&](ObjectReader& reader) {
    token = reader.text("user_token", 1, limits::user_token_bytes_max);
  });
  if (!read) return tl::unexpected(read.error());
  return token;
}

Result<void> read_nothing(const Request& request) {
  if (request.body.empty()) return {};
  return read_body(request, {}, [](ObjectReader&) {});
}

}  // namespace ratchet
