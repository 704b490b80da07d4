#include "bench/load/client_connection.hpp"

#include <stdexcept>
#include <sys/epoll.h>
#include <utility>

#include <fmt/format.h>

namespace ratchet::bench {

ClientConnection::ClientConnection(HttpClient& client, std::uint64_t id, Socket socket)
    : client_(client), id_(id), socket_(std::move(socket)), watched_(EPOLLIN) {
  client_.loop_.add(socket_.fd(), watched_, *this);
}

void ClientConnection::start(HttpRequest request,
                             bool stalled,
                             HttpClient::OnData on_data,
                             HttpClient::OnReply on_reply) {
  request_ = std::move(request);
  on_data_ = std::move(on_data);
  on_reply_ = std::move(on_reply);
  stalled_ = stalled;
  busy_ = true;
  body_.clear();
  body_bytes_ = 0;
  head_.reset();
  out_ = fmt::format("{} {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAccept: {}\r\n",
                     request_.method,
                     request_.target,
                     client_.port_,
                     request_.accept);
  if (request_.method != "GET")
    out_ += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", request_.body.size());
  out_ += "\r\n";
  out_ += request_.body;
  flush();
}

void ClientConnection::flush() {
  const auto sent = socket_.write_some(out_);
  // A connection that is still being made takes nothing yet; one that failed shows in the next round.
  if (sent) out_.erase(0, *sent);
  watch();
}

void ClientConnection::watch() {
  const std::uint32_t reads = stalled_ ? 0u : EPOLLIN;
  const std::uint32_t writes = out_.empty() ? 0u : EPOLLOUT;
  const auto wanted = reads | writes;
  if (wanted == watched_) return;
  client_.loop_.modify(socket_.fd(), wanted, *this);
  watched_ = wanted;
}

void ClientConnection::start_reading() {
  stalled_ = false;
  watch();
}

void ClientConnection::on_io(std::uint32_t events) {
  if (closed_) return;
  if (events & EPOLLOUT) flush();
  if (stalled_ && (events & (EPOLLHUP | EPOLLERR)) == 0) return;
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return;
  const bool ended = !socket_.read_some(in_);
  try {
    if (busy_) take_reply();
  } catch (const std::runtime_error&) {
    return finish(false);
  }
  if (closed_ || !ended) return;
  // Without a length the end of the connection is the end of the body.
  finish(busy_ && head_ && !head_->chunked && !head_->body_bytes);
}

void ClientConnection::take_reply() {
  if (!head_) {
    head_ = parse_reply_head(in_);
    if (!head_) return;
    in_.erase(0, head_->head_bytes);
  }
  const bool whole = take_body();
  if (on_data_ && !body_.empty()) {
    on_data_(body_);
    body_.clear();
  }
  if (whole) finish(true);
}

bool ClientConnection::take_body() {
  if (head_->chunked) return chunks_.read(in_, body_);
  body_bytes_ += in_.size();
  body_ += std::exchange(in_, {});
  return head_->body_bytes && body_bytes_ >= *head_->body_bytes;
}

void ClientConnection::finish(bool whole) {
  const bool reusable = whole && head_ && head_->keep_alive && (head_->chunked || head_->body_bytes);
  const bool was_busy = std::exchange(busy_, false);
  if (!reusable) {
    closed_ = true;
    client_.drop(id_);  // lives until the end of the round
  }
  if (!was_busy) return;
  const auto on_reply = std::exchange(on_reply_, {});
  on_data_ = {};
  if (!whole && !head_ && used_before_) {
    // The server had closed an idle connection: the request never reached it. All of ours can be repeated.
    return client_.send(std::move(request_), on_reply);
  }
  HttpReply reply{.status = head_ ? head_->status : 0, .body = std::move(body_), .whole = whole};
  if (reusable) {
    used_before_ = true;
    client_.idle_.push_back(id_);
  }
  on_reply(std::move(reply));
}

}  // namespace ratchet::bench
