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

/// One or more whole messages in the provider's form.
struct Entry {
  std::shared_ptr<const std::string> bytes;  ///< with a leading comma, but for the first of the context
  std::size_t mark = 0;                      ///< where a cache mark may be inserted; 0: nowhere
  std::uint32_t blocks = 1;                  ///< content blocks in it
};

class Transcript {
 public:
  explicit Transcript(std::uint32_t provider) : provider_(provider) {}

  using Sink = std::function<void(Entry)>;
  /// Takes the next event; what is complete by it goes to `sink`. `endpoint` is that of the transcript's
  /// provider.
  void fold(const Event& event, const ProviderConfig& endpoint, const Sink& sink);
  /// What a request of now would still pull in: messages that wait for the next step.
  void flush(const ProviderConfig& endpoint, const Sink& sink);

  std::uint32_t provider() const { return provider_; }

 private:
  struct AwaitedResult {
    std::string call_id, provider_id;
    bool arrived = false;
    bool is_error = false;
    Content content;
  };

  void add(WirePiece piece, std::uint32_t blocks, const Sink& sink);
  void add_user(const Content& content, const ProviderConfig& endpoint, const Sink& sink);
  void add_reply(const ModelCompleted& completed, const ProviderConfig& endpoint, const Sink& sink);
  void add_result(const ToolResult& result, const ProviderConfig& endpoint, const Sink& sink);

  std::uint32_t provider_;
  std::uint32_t asked_provider_ = 0;  ///< of the attempt under way
  bool empty_ = true;
  std::vector<AwaitedResult> batch_;
  std::vector<Content> messages_;
};

}  // namespace ratchet
