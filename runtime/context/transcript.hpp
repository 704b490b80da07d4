#pragma once
// From events to messages: which piece of what was said becomes part of the context, and when. A message of a
// person joins at the next step, never between a call and its result; the results of a batch join together,
// in the order of the calls. Each piece is rendered once, in the form of the provider, and never changes.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/event/definitions.hpp"
#include "runtime/model/config.hpp"
#include "runtime/model/wire.hpp"

namespace ratchet {

/// said: by a person, or in the place of what was removed. reply: the model's. results: of all its calls.
enum class EntryKind : std::uint8_t { said, reply, results };

/// One or more whole messages in the provider's form.
struct Entry {
  std::shared_ptr<const std::string> bytes;  ///< with a leading comma, but for the first of the context
  std::size_t mark = 0;                      ///< where a cache mark may be inserted; 0: nowhere
  std::uint32_t blocks = 1;                  ///< content blocks in it
  EntryKind kind = EntryKind::said;
  std::uint64_t seq = 0;    ///< of the event that made it complete; never falls from one entry to the next
  std::int64_t tokens = 0;  ///< estimated
  /// `layered`, of results that are long: the same with less in it, stubs first, then nothing.
  std::shared_ptr<const Entry> smaller;
};

class Transcript {
 public:
  explicit Transcript(std::uint32_t provider) : provider_(provider) {}

  using Sink = std::function<void(Entry)>;
  /// Takes the next event; what is complete by it goes to `sink`. `endpoint` is that of the transcript's
  /// provider.
  void fold(const Event& event, const ProviderConfig& endpoint, const Sink& sink);
  /// What a request of now would still pull in: messages that wait for the next step. `seq`: of the request.
  void flush(const ProviderConfig& endpoint, std::uint64_t seq, const Sink& sink);
  /// A message that stands in the place of what was said up to `seq`.
  Entry stand_in(std::string text, const ProviderConfig& endpoint, std::uint64_t seq) const;

  std::uint32_t provider() const { return provider_; }

 private:
  struct AwaitedResult {
    std::string call_id, provider_id;
    bool arrived = false;
    bool is_error = false;
    Content content;
  };

  Entry entry_of(WirePiece piece, std::size_t blocks, EntryKind kind) const;
  void add(Entry entry, const Sink& sink);
  void add_user(const Content& content, const ProviderConfig& endpoint, const Sink& sink);
  void add_reply(const ModelCompleted& completed, const ProviderConfig& endpoint, const Sink& sink);
  void add_result(const ToolResult& result, const ProviderConfig& endpoint, const Sink& sink);
  /// `form`: what each result looks like; none: as it is.
  Entry results_with(const ProviderConfig& endpoint, Content (*form)(const Content&)) const;

  std::uint32_t provider_;
  std::uint64_t seq_ = 0;             ///< of the event that is folded
  bool shrinks_ = false;              ///< results have smaller forms
  std::uint32_t asked_provider_ = 0;  ///< of the attempt under way
  bool empty_ = true;
  std::vector<AwaitedResult> batch_;
  std::vector<Content> messages_;
};

}  // namespace ratchet
