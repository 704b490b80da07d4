#pragma once
// The parsers of reply_parser.hpp, one a provider's format. Private to this folder.

#include <memory>

#include "runtime/model/reply_parser.hpp"

namespace ratchet {

std::unique_ptr<ReplyParser> make_anthropic_parser();
std::unique_ptr<ReplyParser> make_openai_parser();

}  // namespace ratchet
