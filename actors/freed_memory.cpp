#include "actors/freed_memory.hpp"

#include <algorithm>
#include <malloc.h>

#include "runtime/limits.hpp"

namespace ratchet {

bool FreedMemory::pays(std::size_t runs_held) {
  runs_held_ = runs_held;
  peak_ = std::max(peak_, runs_held);
  if (told_ || peak_ < limits::give_back_runs_min || runs_held > peak_ / 2) return false;
  return told_ = true;
}

void FreedMemory::give_back() {
  told_ = false;
  peak_ = runs_held_;
  thread_ = std::jthread([] { ::malloc_trim(0); });  // joins the one before, which has long ended
}

}  // namespace ratchet
