#pragma once
// The way onto the server's one thread, for all others. It can be closed: what comes later is dropped, so a
// late answer of the node never meets a server that is gone.

#include <functional>
#include <memory>
#include <mutex>

namespace boost::asio {
class io_context;
}

namespace ratchet {

class Loop {
 public:
  explicit Loop(boost::asio::io_context& context) : context_(&context) {}

  /// Runs `task` on the server's thread, soon. From any thread. False: the loop is closed.
  bool post(std::function<void()> task);
  void close();

 private:
  std::mutex mutex_;
  boost::asio::io_context* context_;
};

}  // namespace ratchet
