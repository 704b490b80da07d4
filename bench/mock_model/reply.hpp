#pragma once
// A model's reply as the two protocols stream it, cut into pieces that leave one by one. A piece is made when
// it is due, so a reply under way holds nothing but this description.

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/mock_model/options.hpp"

namespace ratchet::bench {

struct ModelReply {
  ModelProtocol protocol = ModelProtocol::anthropic;
  std::uint64_t run = 0;
  unsigned step = 1;
  bool final = false;  ///< an answer instead of a call
  std::string tool;
  std::string arguments;  ///< one JSON object
  std::size_t request_bytes = 0;
  unsigned pieces = 5;
};

/// Appends piece `index` (0 to pieces - 1) as one HTTP chunk; the first one follows the head of the reply,
/// the last one ends the body. Sources: Anthropic Messages streaming, OpenAI chat.completion.chunk.
void append_piece(const ModelReply& reply, unsigned index, std::string& out);

}  // namespace ratchet::bench
