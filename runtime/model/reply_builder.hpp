#pragma once
// What has come of a reply so far, whichever provider sends it, and the reply that it becomes. Private to
// this folder.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/model/provider_error.hpp"
#include "runtime/model/reply.hpp"
#include "runtime/model/reply_parser.hpp"

namespace ratchet {

/// A block under construction. Pieces are only appended; what they make is judged once, in the end.
struct DraftBlock {
  ReplyBlockType type = ReplyBlockType::text;
  std::int64_t index = -1;  ///< the provider's number of it; -1: none
  std::string text;         ///< text, thoughts, or the arguments as they come (WTF-8, see json/unescape.hpp)
  std::string id, name;     ///< of a call
  std::string signature;    ///< of thoughts
  std::uint32_t batch = 0;  ///< of a call: the last list of pieces that held one of it
  std::string whole;  ///< JSON that came in one piece: holds if no `text` and no `signature` came after it
};

/// Tokens as the provider counts them; -1: not said.
struct ReportedUsage {
  std::int64_t input = -1, cached = -1, cache_write = -1, output = -1;
  bool input_excludes_cache = false;  ///< Anthropic's way

  /// Sets what is said, and keeps the rest.
  void merge(const ReportedUsage& later);
  Usage total() const;
};

class ReplyBuilder {
 public:
  void reset();

  /// Appends a block. Valid until the next call.
  DraftBlock& open(ReplyBlockType type, std::int64_t index = -1);
  /// The last block with this index.
  DraftBlock* find(std::int64_t index);
  /// The last block, if it is of this type, or a new one.
  DraftBlock& last_or_new(ReplyBlockType type);

  std::vector<DraftBlock>& blocks() { return blocks_; }

  /// Appends the inside of a JSON string to a text block and shows it as a delta.
  void add_text(DraftBlock& block, std::string_view escaped, const ReplyParser::OnDelta& on_delta);

  bool produced() const { return !blocks_.empty(); }

  /// The finished reply; `stop` is set. `reset` comes next.
  ModelReply build();

  ReportedUsage usage;
  bool usage_final = false;       ///< the provider has said what the whole reply cost
  std::optional<ModelStop> stop;  ///< why the model stopped, once it is known
  bool refused = false;           ///< the model has said so in words of its own
  bool whole = false;             ///< the provider has said that nothing follows
  std::optional<ProviderError> error;
  std::string broken;  ///< not empty: what is wrong with the bytes

 private:
  void show(DraftBlock& block, const ReplyParser::OnDelta& on_delta);

  std::vector<DraftBlock> blocks_;
  std::size_t shown_block_ = 0;   // deltas are shown of the last text block only
  std::uint64_t shown_base_ = 0;  // bytes of text before it
  std::size_t shown_bytes_ = 0;   // bytes of it that were shown
};

}  // namespace ratchet
