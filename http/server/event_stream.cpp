#include "http/server/event_stream.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "http/server/run_stream.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

constexpr std::array<std::string_view, 3> approval_types = {
    ApprovalRequired::type, ApprovalReminded::type, ApprovalDecided::type};

/// Takes from the runs of a tree by turns. Everything happens on the server's thread.
class EventStream final : public BodyStream {
 public:
  EventStream(EventSources sources, EventSelection selection)
      : sources_(sources),
        selection_(std::move(selection)),
        types_below_(selection_.types_below()),
        space_(std::make_shared<QueueSpace>(0)) {}

  void start(std::function<void()> wake) override {
    wake_ = std::move(wake);
    RunSelection root;
    root.run = selection_.run;
    root.after = selection_.after;
    root.types = selection_.types;
    root.follows = types_below_.has_value();
    root.view_of = selection_.view_of;
    root.output = selection_.output;
    open(std::move(root));
  }

  bool take(std::size_t bytes_max, Pieces& out) override {
    while (!ended_ && out.size() < bytes_max && take_turns(bytes_max, out)) {
    }
    if (draining_ && !ended_) {
      out.add(fmt::format("retry: {}\n\n", limits::stream_retry_ms));
      end();
    }
    return !ended_;
  }

  std::string_view heartbeat() const override { return ":\n"; }

  void drain() override { draining_ = true; }

  void stop() override { end(); }

 private:
  /// The youngest first: what a run waits for is then mostly shown before it has to wait. False: nothing more
  /// comes by asking again.
  bool take_turns(std::size_t bytes_max, Pieces& out) {
    bool again = false;
    for (std::size_t i = runs_.size(); i-- > 0 && !ended_ && out.size() < bytes_max;) {
      const auto run = runs_[i];
      auto taken = run->take(bytes_max, shown_, out);
      for (const RunId& child : taken.started)
        again = follow(child) || again;
      // It had ended before this client came, or has started and ended while it was away.
      if (taken.waits_for) again = follow(*taken.waits_for) || again;
      if (taken.state == RunStream::State::open) continue;
      if (taken.state == RunStream::State::over || run->run() == selection_.run) {
        end();
        return false;
      }
      if (taken.state == RunStream::State::unreadable)
        out.add(fmt::format(": {} cannot be read\n\n", to_string(run->run())));
      run->stop();
      shown_.insert(run->run());
      std::erase(runs_, run);
      again = true;  // its parent may have waited for it
    }
    return again;
  }

  /// False: it has been followed before.
  bool follow(const RunId& child) {
    if (!followed_.insert(child).second) return false;
    RunSelection below;
    below.run = child;
    below.below = true;
    below.types = *types_below_;
    below.approvals_only = !selection_.children;
    below.follows = true;
    below.view_of = selection_.view_of;
    below.output = selection_.output && selection_.children;
    open(std::move(below));
    return true;
  }

  void open(RunSelection selection) {
    runs_.push_back(std::make_shared<RunStream>(sources_, std::move(selection), space_));
    runs_.back()->start(wake_);
  }

  void end() {
    ended_ = true;
    for (const auto& run : runs_)
      run->stop();
    runs_.clear();
  }

  const EventSources sources_;
  const EventSelection selection_;
  const std::optional<std::set<std::string>> types_below_;
  const std::shared_ptr<QueueSpace> space_;
  std::function<void()> wake_;
  bool draining_ = false, ended_ = false;
  std::vector<std::shared_ptr<RunStream>> runs_;  ///< that are being shown, parents before their children
  std::set<RunId> followed_;                      ///< all below that were ever among them
  std::set<RunId> shown_;                         ///< those of them that are over
};

}  // namespace

std::optional<std::set<std::string>> EventSelection::types_below() const {
  if (children) return types;
  std::set<std::string> wanted;
  for (const auto type : approval_types)
    if (wants(type)) wanted.emplace(type);
  if (wanted.empty()) return std::nullopt;
  return wanted;
}

std::shared_ptr<BodyStream> make_event_stream(EventSources sources, EventSelection selection) {
  return std::make_shared<EventStream>(sources, std::move(selection));
}

}  // namespace ratchet
