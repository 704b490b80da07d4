#pragma once
// The mock's routes and connections.
//
//   POST /v1/messages, /v1/chat/completions   a streamed reply; which one follows from the messages alone
//   POST /tool/lookup                         700 tokens of text
//   GET  /stats      POST /stats/reset        the ledger
//   POST /mark                                see Ledger::mark
//   GET  /finished?after=N                    one line for each run whose final answer has left, from the
//   N-th on;
//                                             waits until there is one

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "bench/common/event_loop.hpp"
#include "bench/common/http.hpp"
#include "bench/common/socket.hpp"
#include "bench/mock_model/ledger.hpp"
#include "bench/mock_model/options.hpp"

namespace ratchet::bench {

class MockConnection;

class MockServer final : public IoHandler {
 public:
  explicit MockServer(MockOptions options);
  ~MockServer() override;

  std::uint16_t port() const;
  /// Serves until the process is told to end.
  void run();

 private:
  friend class MockConnection;

  void on_io(std::uint32_t events) override;
  /// Calls `action` on the connection at `at_ns`, if it is still there.
  void later(std::int64_t at_ns, std::uint64_t connection, void (MockConnection::*action)());
  void drop(std::uint64_t connection);
  void answer_finished_waiters();

  MockOptions options_;
  EventLoop loop_;
  Socket listener_;
  Ledger ledger_;
  std::unordered_map<std::uint64_t, std::unique_ptr<MockConnection>> connections_;
  std::uint64_t connections_made_ = 0;
  std::vector<std::uint64_t> finished_runs_;
  std::vector<std::uint64_t> finished_waiters_;  ///< connections
};

}  // namespace ratchet::bench
