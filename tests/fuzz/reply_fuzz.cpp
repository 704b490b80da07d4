// Bytes of a provider, cut in any way: the reply does not depend on the cuts, and keeps what it promises.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "runtime/json/canonical.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"
#include "runtime/model/reply_parser.hpp"
#include "runtime/model/wire.hpp"
#include "runtime/result.hpp"

namespace ratchet {
namespace {

using Outcome = std::variant<ModelReply, ModelFailure>;

Outcome play(ReplyParser& parser, std::string_view bytes, std::size_t piece_bytes, const ReplyEnd& end) {
  const auto on_delta = [](std::uint64_t, std::string_view text) {
    RATCHET_ENSURE(is_valid_utf8(text), "a delta is not valid UTF-8");
  };
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece_bytes, bytes.size())))
    parser.feed(bytes.substr(0, piece_bytes), on_delta);
  return parser.finish(end);
}

void check(const ModelReply& reply) {
  for (const auto& block : reply.content) {
    RATCHET_ENSURE(is_valid_utf8(block.text + block.tool + block.provider_id + block.args + block.args_error),
                   "a block is not valid UTF-8");
    if (block.type == ReplyBlockType::call && block.args_error.empty())
      RATCHET_ENSURE(canonical_object(block.args) == block.args, "arguments are not canonical");
  }
  // What was said can be said again.
  ProviderConfig provider;
  for (const auto protocol : {Protocol::anthropic, Protocol::openai}) {
    provider.protocol = protocol;
    const auto piece = render_assistant(provider, reply.content, true);
    RATCHET_ENSURE(piece.bytes.empty() || canonical_object(piece.bytes).has_value() ||
                       piece.bytes.find("\"thinking\"") != std::string::npos,
                   "a turn cannot be sent back");
  }
}

void check(const ModelFailure& failure) {
  RATCHET_ENSURE(failure.text.size() <= limits::error_text_bytes_max, "an error text is too long");
  RATCHET_ENSURE(is_valid_utf8(failure.text), "an error text is not valid UTF-8");
}

bool same(const Outcome& a, const Outcome& b) {
  if (a.index() != b.index()) return false;
  if (const auto* reply = std::get_if<ModelReply>(&a)) {
    const auto& other = std::get<ModelReply>(b);
    return reply->stop == other.stop && reply->content == other.content && reply->usage == other.usage;
  }
  return std::get<ModelFailure>(a).kind == std::get<ModelFailure>(b).kind &&
         std::get<ModelFailure>(a).text == std::get<ModelFailure>(b).text;
}

}  // namespace
}  // namespace ratchet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ratchet;
  if (size < 2) return 0;
  static const auto anthropic = make_reply_parser(Protocol::anthropic);
  static const auto openai = make_reply_parser(Protocol::openai);
  auto& parser = (data[0] & 1) != 0 ? *anthropic : *openai;
  const std::size_t piece_bytes = 1 + data[1] % 64;
  ReplyEnd end;
  end.http_status = (data[0] & 6) == 6 ? 500 : 200;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto whole = play(parser, bytes, size, end);
  std::visit([](const auto& outcome) { check(outcome); }, whole);
  RATCHET_ENSURE(same(whole, play(parser, bytes, piece_bytes, end)), "the cuts change the reply");
  return 0;
}
