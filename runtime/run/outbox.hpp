#pragma once
// What the outside is told of a run: entries of an outbox, written in the transaction of the events that
// cause them, and posted later, at least once. An entry says which run, which approval and what happened,
// never what was said or with which arguments.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/agent.hpp"
#include "runtime/event/definitions.hpp"
#include "runtime/run/row.hpp"

namespace ratchet {

/// One POST to one address. Run, seq and n together are its identity, and never change.
struct OutboxEntry {
  Timestamp due_at;  ///< not before
  RunId run_id;
  std::uint64_t seq = 0;  ///< of the event
  std::uint32_t n = 0;    ///< the how-manieth address that is told of it, from 0
  std::string type;       ///< of the event
  std::string url;
  std::string body;      ///< JSON, the same bytes at every attempt
  Timestamp created_at;  ///< when the event was written
  std::uint32_t attempts = 0;
  bool on_stop = false;  ///< for a hook; otherwise for `approval.notify_url`

  bool operator==(const OutboxEntry&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "due_at", self.due_at);
    visit(2, "run_id", self.run_id);
    visit(3, "seq", self.seq);
    visit(4, "n", self.n);
    visit(5, "type", self.type);
    visit(6, "url", self.url);
    visit(7, "body", self.body);
    visit(8, "created_at", self.created_at);
    visit(9, "attempts", self.attempts);
    visit(10, "on_stop", self.on_stop);
  }
};

std::string encode_outbox(const OutboxEntry& entry);
/// Errors: corrupt.
Result<OutboxEntry> decode_outbox(std::string_view bytes);

/// Names the entry to its receiver, who may see it twice: the same at every attempt, unlike that of any
/// other.
std::string delivery_id(const OutboxEntry& entry);

/// What the agent's version wants told of `events`: approvals and pauses to its `approval.notify_url`, the
/// end of the run to its hooks at `on_stop`. `row` is of the run; of it only what never changes is used.
std::vector<OutboxEntry> outbox_entries(const AgentDefinition& agent,
                                        const RunRow& row,
                                        const std::vector<Event>& events);

/// The entry after an attempt at `now` that failed: due again, later each time. Nothing: it was tried for
/// limits::webhook_give_up_ms.
std::optional<OutboxEntry> put_off(OutboxEntry entry, Timestamp now);

}  // namespace ratchet
