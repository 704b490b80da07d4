#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bench/common/event_loop.hpp"
#include "bench/common/http.hpp"
#include "bench/common/socket.hpp"
#include "bench/mock_model/reply.hpp"
#include "bench/mock_model/server.hpp"

namespace ratchet::bench {

/// One client connection: one request at a time, then its reply, then the next.
class MockConnection final : public IoHandler {
 public:
  MockConnection(MockServer& server, std::uint64_t id, Socket socket);

  void on_io(std::uint32_t events) override;
  /// Sends the run numbers that the waiting `GET /finished` asked for, if there are any.
  void answer_finished();

  int fd() const { return socket_.fd(); }

 private:
  enum class Busy { no, model, tool, finished };

  void take_requests();
  void route(const RequestHead& head, std::string_view body);
  void start_model_reply(ModelProtocol protocol, std::string_view body);
  void start_tool_reply(std::string_view key, std::string_view body);
  void send_next_piece();
  void send_tool_result();
  void reply_now(int status, std::string_view type, std::string_view body);
  void flush();
  void reply_has_left();
  void close();

  MockServer& server_;
  std::uint64_t id_;
  Socket socket_;
  std::int64_t connected_ns_;
  std::int64_t arrived_ns_ = 0;  ///< of the request that is being read or answered
  std::string in_, out_;
  Busy busy_ = Busy::no;
  bool reply_whole_ = false;  ///< all of it is in `out_`
  bool wants_write_ = false;
  bool continue_sent_ = false;
  bool closed_ = false;
  std::optional<std::uint64_t> run_;
  unsigned tool_step_ = 0;
  ModelReply reply_;
  unsigned pieces_sent_ = 0;
  std::size_t finished_after_ = 0;
};

}  // namespace ratchet::bench
