#include "actors/parts.hpp"

#include <fmt/format.h>

#include "runtime/replay/version.hpp"

namespace ratchet {

Result<std::shared_ptr<const ToolBook>> BookShelf::get(const RunRow& row) {
  auto agent = version_of(catalog_, journal_, row);
  if (!agent) return tl::unexpected(agent.error());
  const std::lock_guard lock(mutex_);
  std::weak_ptr<const ToolBook>& slot = books_[agent->get()];
  // The book holds its version, so an address that is found alive is still that version's.
  if (auto book = slot.lock()) return book;
  auto book = ToolBook::make(*agent);
  if (!book) return book;
  slot = *book;
  std::erase_if(books_, [](const auto& each) { return each.second.expired(); });
  return book;
}

Result<void> Admission::enter(const std::string& team) {
  const std::lock_guard lock(mutex_);
  if (active_ >= max_)
    return fail(ErrorCode::too_many_runs, fmt::format("the server runs {} at once at most", max_));
  std::size_t& of_team = teams_[team];
  if (of_team >= per_team_max_) {
    return fail(ErrorCode::too_many_runs,
                fmt::format("team {} may have {} runs at once at most", team, per_team_max_));
  }
  ++of_team;
  ++active_;
  return {};
}

void Admission::enter_anyway(const std::string& team) {
  const std::lock_guard lock(mutex_);
  ++teams_[team];
  ++active_;
}

void Admission::leave(const std::string& team) {
  const std::lock_guard lock(mutex_);
  RATCHET_ENSURE(active_ > 0 && teams_[team] > 0, "a run leaves once");
  --active_;
  if (--teams_[team] == 0) teams_.erase(team);
}

std::size_t Admission::active() const {
  const std::lock_guard lock(mutex_);
  return active_;
}

}  // namespace ratchet
