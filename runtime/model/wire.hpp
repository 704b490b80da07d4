#pragma once
// The request side of the providers' formats: values in, bytes out. A request body is put together from
// pieces that are rendered once and never edited, so that each request begins with the bytes of the one
// before it and the provider's prompt cache keeps hitting:
//
//   render_head   model, sampling, tools, system, the opening of the messages    once a run
//   render_*      one message, or several                                        once each, a comma between
//   two render_tail   late text, the end of the messages, max_tokens, stream         each request
//
// Cache marks (Anthropic's `cache_control`) move from request to request, so they are not in the pieces: each
// piece says where one may be inserted, and `cache_mark` is what to insert there.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/content.hpp"
#include "runtime/model/config.hpp"
#include "runtime/model/reply.hpp"

namespace ratchet {

/// Bytes of a request, and the offsets at which `cache_mark` may be inserted, ascending. The offsets hold for
/// the bytes without marks: insert from the last to the first.
struct WirePiece {
  std::string bytes;
  std::vector<std::size_t> marks;

  bool operator==(const WirePiece&) const = default;
};

inline constexpr std::string_view cache_mark = R"(,"cache_control":{"type":"ephemeral"})";

struct WireTool {
  std::string_view name;
  std::string_view description;
  std::string_view schema_json;  ///< an object, written as it stands
};

/// One answer to a call of the assistant's turn before it.
struct WireResult {
  std::string_view call_id;      ///< ours: letters, digits, `_` and `-`, at most 40
  std::string_view provider_id;  ///< the provider's, used where any provider would take it
  const Content* content;        ///< borrowed
  bool is_error = false;
};

/// From `{` to where the first message goes, which stands without a comma before it: the opening of the
/// messages array and, where it is a message, the system prompt are in it. Tools are written in the given
/// order; of the settings only what is set and listed in `sampling`. Marks: end of the tools, end of the
/// system prompt (Anthropic only, here and below).
WirePiece render_head(const ProviderConfig& provider,
                      const ModelSettings& settings,
                      std::span<const std::string> sampling,
                      std::string_view system_prompt,
                      std::span<const WireTool> tools);

/// One user message. An artifact stands as its head and a line that says how to read the rest. Empty content
/// is written as an empty text would be refused: as "(empty)". One mark, in the last block.
WirePiece render_user(Protocol protocol, const Content& content);

/// The assistant's turn as it was, calls with arguments that did not parse as `{}` (the raw text would make
/// the provider refuse the history for ever). Reasoning goes back only with `include_reasoning`, only to a
/// protocol that takes it (Anthropic), byte for byte. Empty bytes: there is nothing to send of this turn. No
/// marks.
WirePiece render_assistant(const ProviderConfig& provider,
                           std::span<const ReplyBlock> content,
                           bool include_reasoning);

/// The answers to all calls of a turn, in the given order: one user message (Anthropic), or one `tool`
/// message each with commas between them. One mark, in the last result.
WirePiece render_tool_results(Protocol protocol, std::span<const WireResult> results);

/// The end of the body. `late_text`, where given, becomes a last user message of this request only; `comma`
/// says that messages stand before it. `max_tokens` > 0.
std::string render_tail(const ProviderConfig& provider,
                        std::int64_t max_tokens,
                        std::string_view late_text,
                        bool comma);

/// What an artifact looks like to a model.
std::string artifact_text(const ArtifactRef& artifact);

/// The headers of a request, lower-case, without the one that carries the key.
std::vector<std::pair<std::string, std::string>> request_headers(const ProviderConfig& provider);

/// Anthropic: `/v1/messages` behind the base, which may already end in /v1. Others: `/chat/completions`.
std::string endpoint_url(const ProviderConfig& provider);

}  // namespace ratchet
