#include "http/server/loop.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace ratchet {

bool Loop::post(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (!context_) return false;
  boost::asio::post(*context_, std::move(task));
  return true;
}

void Loop::close() {
  const std::lock_guard lock(mutex_);
  context_ = nullptr;
}

}  // namespace ratchet
