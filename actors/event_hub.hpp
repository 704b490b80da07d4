#pragma once
// Who listens to which run. Runs publish what is durable; what nobody listens to costs one look-up. Of a
// reply that is being written the hub keeps the text so far, so that a listener who comes late gets all of
// it.

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/node.hpp"

namespace ratchet {

class EventHub final : public EventFeed {
 public:
  void subscribe(const RunId& run, std::shared_ptr<EventSink> sink) override;
  void unsubscribe(const RunId& run, const EventSink* sink) override;

  /// Tells the listeners of the run. Called by its actor, after the commit.
  void publish(const RunId& run, const std::vector<Event>& events);
  /// A piece of the reply under way; `index` 0 begins one. Called on the model client's thread.
  void preview(const RunId& run,
               std::uint32_t step,
               std::uint32_t attempt,
               std::uint64_t index,
               std::string_view text);
  /// A piece of what a running command writes. Nothing of it is kept: who comes late sees what comes from
  /// then on. Called on the sandboxes' thread.
  void output(const RunId& run, const ToolOutput& output);
  /// The reply is over, or its run is.
  void end_preview(const RunId& run);

 private:
  using Sinks = std::vector<std::shared_ptr<EventSink>>;

  struct Preview {
    std::uint32_t step = 0, attempt = 0;
    std::string text;
  };

  /// Runs are spread over shards, so that a thousand of them do not meet at one lock.
  struct Shard {
    std::mutex mutex;
    std::unordered_map<RunId, Sinks> sinks;
    std::unordered_map<RunId, Preview> previews;
  };

  static constexpr std::size_t shard_count = 16;

  Shard& shard(const RunId& run) { return shards_[run.ulid.bytes[15] % shard_count]; }

  Sinks listeners(const RunId& run);

  std::array<Shard, shard_count> shards_;
};

}  // namespace ratchet
