#include "actors/freed_memory.hpp"

#include <algorithm>
#include <malloc.h>

#include "runtime/limits.hpp"

namespace ratchet {

namespace {

/// Runs that go to sleep one after the other leave as much behind as a thousand at once.
constexpr std::size_t ended_max = 8'192;

}  // namespace

bool FreedMemory::pays(std::size_t runs_held) {
  if (runs_held < runs_held_) ended_ += runs_held_ - runs_held;
  runs_held_ = runs_held;
  peak_ = std::max(peak_, runs_held);
  const bool fewer = peak_ >= limits::give_back_runs_min && runs_held <= peak_ / 2;
  if (told_ || !(fewer || ended_ >= ended_max)) return false;
  return told_ = true;
}

void FreedMemory::give_back() {
  told_ = false;
  peak_ = runs_held_;
  ended_ = 0;
  thread_ = std::jthread([] { ::malloc_trim(0); });  // joins the one before, which has long ended
}

}  // namespace ratchet
