#pragma once
// The renderers of wire.hpp, one set a provider's format. Private to this folder.

#include "runtime/model/wire.hpp"

namespace ratchet {

/// What a block says in words: its text, or of an artifact its head and how to read on.
std::string text_of(const Block& block);
/// An image whose bytes are at hand: one that is an artifact is shown in words.
bool is_image(const Block& block);
/// True where a provider would refuse the text as empty.
bool is_blank(std::string_view text);
/// What stands where nothing was said: providers refuse empty text.
inline constexpr std::string_view nothing_said = "(empty)";

/// Appends `,"name":value` for what is set and taken by the model.
void append_sampling(std::string& out, const ModelSettings& settings, std::span<const std::string> sampling);

/// A call's arguments as they may be sent again.
inline std::string_view sendable_args(const ReplyBlock& call) {
  return call.args_error.empty() ? std::string_view(call.args) : std::string_view("{}");
}

/// The id that a call and its result go by in a request: the provider's, unless it is of a form that another
/// provider would refuse in the history.
std::string_view wire_id(std::string_view provider_id, std::string_view call_id);

/// A tool's name in the history. Names of real tools come out as they are; one that a model made up keeps
/// only what providers allow there (letters, digits, `_` and `-`, at most 64), or the whole history would be
/// refused.
std::string wire_name(std::string_view tool);

namespace anthropic {
WirePiece render_head(const ProviderConfig& provider,
                      const ModelSettings& settings,
                      std::span<const std::string> sampling,
                      std::string_view system_prompt,
                      std::span<const WireTool> tools);
WirePiece render_user(const Content& content);
WirePiece render_assistant(std::span<const ReplyBlock> content, bool include_reasoning);
WirePiece render_tool_results(std::span<const WireResult> results);
}  // namespace anthropic

namespace openai {
WirePiece render_head(const ProviderConfig& provider,
                      const ModelSettings& settings,
                      std::span<const std::string> sampling,
                      std::string_view system_prompt,
                      std::span<const WireTool> tools);
WirePiece render_user(const Content& content);
WirePiece render_assistant(std::span<const ReplyBlock> content);
WirePiece render_tool_results(std::span<const WireResult> results);
}  // namespace openai

}  // namespace ratchet
