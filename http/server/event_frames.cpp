#include "http/server/event_frames.hpp"

#include <fmt/format.h>

#include "runtime/json/writer.hpp"

namespace ratchet {

namespace {

constexpr std::string_view end_of_frame = "\n\n";

std::string run_member(const RunId& run) {
  return fmt::format(R"("run_id":"{}",)", to_string(run));
}

}  // namespace

std::string with_run_id(const RunId& run, std::string_view json) {
  std::string out = "{" + run_member(run);
  out += json.substr(1);
  return out;
}

EventFrames::EventFrames(const std::optional<RunId>& below) {
  if (below) run_member_ = run_member(*below);
}

/// All up to the first member of the event.
std::string EventFrames::head(std::uint64_t seq, std::string_view type) const {
  if (run_member_.empty()) return fmt::format("id: {}\nevent: {}\ndata: {{", seq, type);
  return fmt::format("event: {}\ndata: {{{}", type, run_member_);
}

void EventFrames::write(std::uint64_t seq,
                        std::string_view type,
                        std::string_view json,
                        std::string& out) const {
  out += head(seq, type);
  out += json.substr(1);
  out += end_of_frame;
}

void EventFrames::write(std::uint64_t seq,
                        std::string_view type,
                        std::string_view json,
                        std::shared_ptr<const void> owner,
                        Pieces& out) const {
  out.add(head(seq, type));
  out.add_shared(json.substr(1), std::move(owner));
  out.add_shared(end_of_frame, nullptr);
}

std::string EventFrames::frame(const Delta& delta) const {
  std::string of = "\"step\":";
  append_json_number(of, std::uint64_t{delta.step});
  return preview("model.delta", of, delta.attempt, delta.index, delta.text);
}

std::string EventFrames::frame(const ToolOutput& output) const {
  std::string of = "\"call_id\":";
  append_json_string(of, output.call_id);
  return preview("tool.output", of, output.attempt, output.index, output.text);
}

std::string EventFrames::preview(std::string_view type,
                                 std::string_view of,
                                 std::uint32_t attempt,
                                 std::uint64_t index,
                                 std::string_view text) const {
  std::string out = fmt::format(
      "event: {}\ndata: {{{}{},\"attempt\":{},\"index\":{},\"text\":", type, run_member_, of, attempt, index);
  append_json_string(out, text);
  out += '}';
  out += end_of_frame;
  return out;
}

}  // namespace ratchet
