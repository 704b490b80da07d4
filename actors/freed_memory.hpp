#pragma once
// Gives memory back that runs have freed. glibc keeps what was freed below something that is still in use, so
// a node that had a thousand runs in flight an hour ago, or has put a hundred thousand to sleep one after the
// other, would hold megabytes for nobody.

#include <cstddef>
#include <thread>

namespace ratchet {

class FreedMemory {
 public:
  /// So many runs hold an actor now. True where giving memory back pays, because that is so much less than it
  /// was, or because so many have come and gone; it is true once, until `give_back` was called.
  bool pays(std::size_t runs_held);

  /// Starts to give back, on a thread of its own: some tens of milliseconds after thousands of runs.
  void give_back();

 private:
  std::size_t runs_held_ = 0;
  std::size_t peak_ = 0, ended_ = 0;  ///< the most at once, and all that ended, since memory was given back
  bool told_ = false;
  std::jthread thread_;
};

}  // namespace ratchet
