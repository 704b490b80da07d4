#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bench/common/event_loop.hpp"
#include "bench/common/http.hpp"
#include "bench/common/socket.hpp"
#include "bench/load/http_client.hpp"

namespace ratchet::bench {

/// One connection of an `HttpClient`, and the exchange that it is used for.
class ClientConnection final : public IoHandler {
 public:
  ClientConnection(HttpClient& client, std::uint64_t id, Socket socket);

  void start(HttpRequest request, bool stalled, HttpClient::OnData on_data, HttpClient::OnReply on_reply);
  void on_io(std::uint32_t events) override;
  void start_reading();

  int fd() const { return socket_.fd(); }

  std::uint64_t id() const { return id_; }

 private:
  void flush();
  void watch();
  void take_reply();
  bool take_body();
  void finish(bool whole);

  HttpClient& client_;
  std::uint64_t id_;
  Socket socket_;
  HttpRequest request_;
  HttpClient::OnData on_data_;
  HttpClient::OnReply on_reply_;
  std::string in_, out_, body_;
  std::optional<ReplyHead> head_;
  ChunkReader chunks_;
  std::size_t body_bytes_ = 0;
  std::uint32_t watched_ = 0;
  bool used_before_ = false;
  bool stalled_ = false;
  bool busy_ = false;
  bool closed_ = false;
};

}  // namespace ratchet::bench
