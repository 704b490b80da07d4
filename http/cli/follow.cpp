#include "http/cli/follow.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "http/cli/fields.hpp"

namespace ratchet::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto pause_min = std::chrono::milliseconds(100);
constexpr auto pause_max = std::chrono::milliseconds(2'000);

ExitStatus status_of(std::string_view stop_reason) {
  return stop_reason == "final_answer" ? ExitStatus::done : ExitStatus::ended_otherwise;
}

/// Follows one run over any number of streams.
class Following {
 public:
  Following(ApiClient& api, const std::string& run_id, const FollowOptions& options, const Follower& follower)
      : api_(api),
        path_("/v1/runs/" + encoded(run_id)),
        options_(options),
        follower_(follower),
        after_(options.after) {}

  Outcome<ExitStatus> run() {
    auto give_up_at = Clock::now() + std::chrono::milliseconds(options_.patience_ms);
    auto pause = pause_min;
    bool was_there = options_.was_there;
    const auto events = path_ + "/events" + query();
    for (;;) {
      const auto seen = after_;
      const auto end =
          api_.stream(events, after_, [&](auto type, const auto& data) { return take(type, data); });
      if (stop_reason_) return status_of(*stop_reason_);
      if (end && *end == ApiClient::StreamEnd::empty) return outcome_of_row();
      if (!end && (end.error().status != ExitStatus::unreachable || !was_there))
        return tl::unexpected(end.error());
      if (end) was_there = true;
      if (end && after_ > seen) {
        pause = pause_min;
        give_up_at = Clock::now() + std::chrono::milliseconds(options_.patience_ms);
      }
      if (Clock::now() >= give_up_at)
        return failed(ExitStatus::unreachable,
                      fmt::format("gave up after event {}; the run goes on without us", after_));
      follower_.on_break(end ? "the stream ended" : end.error().text, after_);
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, pause_max);
    }
  }

 private:
  std::string query() const {
    std::string query;
    const auto add = [&](bool wanted, const char* word) {
      if (wanted) query += (query.empty() ? '?' : '&') + std::string(word);
    };
    add(options_.children, "children=true");
    add(options_.output, "output=true");
    return query;
  }

  bool take(std::string_view type, const std::string& data) {
    if (type == "model.delta" || type == "tool.output") {
      follower_.on_event(type, data);
      return true;
    }
    const Fields event(data);
    const auto seq = event.number("seq");
    const auto below = event.text("run_id");
    // A run below is shown from its first event again when a stream is taken up while it goes on.
    auto& seen = below.empty() ? after_ : below_[below];
    if (seq > 0 && seq <= seen) return true;
    seen = std::max(seen, seq);
    follower_.on_event(type, data);
    if (type == "run.finished" && below.empty() && seq > 0) stop_reason_ = event.text("stop_reason");
    return !stop_reason_;
  }

  /// The run was over before the first event that would have been new.
  Outcome<ExitStatus> outcome_of_row() {
    return api_.get(path_).map(
        [](const std::string& body) { return status_of(Fields(body).text("stop_reason")); });
  }

  ApiClient& api_;
  std::string path_;
  FollowOptions options_;
  const Follower& follower_;
  std::uint64_t after_;
  std::map<std::string, std::uint64_t> below_;  ///< the newest seq seen of each run below
  std::optional<std::string> stop_reason_;
};

}  // namespace

Outcome<ExitStatus> follow_run(ApiClient& api,
                               const std::string& run_id,
                               const FollowOptions& options,
                               const Follower& follower) {
  return Following(api, run_id, options, follower).run();
}

}  // namespace ratchet::cli
