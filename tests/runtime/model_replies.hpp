#pragma once
// Plays a canned response to a reply parser and writes what it became as one line, so that a table of cases
// reads like a table.

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/model/reply_parser.hpp"

namespace ratchet::testing {

/// What a response became, and the text that its deltas showed.
struct Played {
  std::variant<ModelReply, ModelFailure> outcome;
  std::string shown;
  ReplyParser::Progress progress = ReplyParser::Progress::more;
};

inline ReplyEnd ended(int status, std::string transport_error = {}) {
  ReplyEnd end;
  end.http_status = status;
  end.transport_error = std::move(transport_error);
  return end;
}

inline Played play(ReplyParser& parser, const std::vector<std::string_view>& pieces, const ReplyEnd& end) {
  Played played;
  const auto on_delta = [&](std::uint64_t index, std::string_view text) {
    played.shown.resize(index);  // as the API tells a client to do
    played.shown += text;
  };
  for (const auto piece : pieces)
    played.progress = parser.feed(piece, on_delta);
  played.outcome = parser.finish(end);
  return played;
}

inline std::string line(const ModelReply& reply) {
  std::string out{name(reply.stop)};
  for (const auto& block : reply.content) {
    if (block.type == ReplyBlockType::text) out += fmt::format(" | text {}", block.text);
    if (block.type == ReplyBlockType::reasoning) out += fmt::format(" | reasoning {}", block.text);
    if (block.type != ReplyBlockType::call) continue;
    out += fmt::format(
        " | call {} {} {}", block.provider_id.empty() ? "-" : block.provider_id, block.tool, block.args);
    if (!block.args_error.empty()) out += fmt::format(" ({})", block.args_error);
  }
  const auto& u = reply.usage;
  return out + (reply.usage_reported
                    ? fmt::format(" | usage {} {} {} {}", u.input, u.cached_input, u.cache_write, u.output)
                    : std::string(" | usage ?"));
}

inline std::string line(const ModelFailure& failure) {
  return fmt::format(
      "failed {}{}: {}", name(failure.kind), failure.produced ? " (produced)" : "", failure.text);
}

inline std::string line(const Played& played) {
  return std::visit([](const auto& value) { return line(value); }, played.outcome);
}

inline std::string text_of(const Played& played) {
  std::string text;
  if (const auto* reply = std::get_if<ModelReply>(&played.outcome))
    for (const auto& block : reply->content)
      if (block.type == ReplyBlockType::text) text += block.text;
  return text;
}

/// Every way a network may cut the bytes has to give the same: whole, byte by byte, and in two at each place.
inline void expect_reply(Protocol protocol,
                         std::string_view what,
                         std::string_view bytes,
                         const std::string& expected,
                         const ReplyEnd& end = ended(200)) {
  SCOPED_TRACE(what);
  const auto parser = make_reply_parser(protocol);  // one for all: it has to be as new after each reply
  const auto whole = play(*parser, {bytes}, end);
  EXPECT_EQ(line(whole), expected);
  const bool streamed = !bytes.starts_with('{');
  if (streamed && std::holds_alternative<ModelReply>(whole.outcome) && bytes.ends_with('\n')) {
    EXPECT_EQ(whole.shown, text_of(whole)) << "what was shown is not what was said";
  }
  std::vector<std::string_view> single;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    single.push_back(bytes.substr(i, 1));
  const auto by_byte = play(*parser, single, end);
  EXPECT_EQ(line(by_byte), expected) << "byte by byte";
  EXPECT_EQ(by_byte.shown, whole.shown) << "byte by byte";
  if (bytes.size() > 4'000) return;
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    const auto played = play(*parser, {bytes.substr(0, cut), bytes.substr(cut)}, end);
    ASSERT_EQ(line(played), expected) << "cut at " << cut;
    ASSERT_EQ(played.shown, whole.shown) << "cut at " << cut;
  }
}

}  // namespace ratchet::testing
