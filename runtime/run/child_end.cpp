#include "runtime/run/child_end.hpp"

namespace ratchet {

input::ChildEnded child_end(const RunRow& row, const RunFinished& finished) {
  input::ChildEnded ended;
  ended.child_run_id = row.run_id;
  ended.stop_reason = finished.stop_reason;
  ended.used = {finished.steps, finished.usage.total(), finished.cost_usd};
  ended.used += finished.subagents;
  ended.waited_us = row.paused_us;
  if (finished.result) {
    ended.text = *finished.result;
  } else if (finished.report) {
    ended.text = finished.report->text;
  }
  return ended;
}

}  // namespace ratchet
