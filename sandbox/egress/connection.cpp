#include "sandbox/egress/connection.hpp"

#include <algorithm>
#include <array>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include "runtime/limits.hpp"

namespace ratchet::sandbox {

namespace {

constexpr std::size_t read_bytes = 64u << 10;
constexpr std::string_view connected = "HTTP/1.1 200 Connected\r\n\r\n";

}  // namespace

Connection::Connection(Shared shared,
                       ConnectionId id,
                       const std::vector<std::string>& allow,
                       std::shared_ptr<EgressLink> link,
                       std::function<void(const std::string&)> refused,
                       std::function<void()> over)
    : shared_(std::move(shared)),
      id_(id),
      allow_(allow),
      link_(std::move(link)),
      refused_(std::move(refused)),
      over_(std::move(over)),
      active_at_ms_(Loop::now_ms()),
      may_send_(limits::egress_window_bytes) {
  alarm_ = shared_.loop.alarm(active_at_ms_ + limits::egress_head_timeout_ms, [this] { idle(); });
}

Connection::~Connection() {
  dial_.reset();
  if (watch_) shared_.loop.unwatch(watch_);
  if (alarm_) shared_.loop.cancel(alarm_);
}

void Connection::data(std::string_view bytes) {
  active_at_ms_ = Loop::now_ms();
  if (answered_) return link_->grant(id_, static_cast<std::uint32_t>(bytes.size()));
  if (request_) return to_origin(bytes);
  head_.append(bytes);
  read_head();
}

/// The head is bounded, and far below the window: what it takes is granted when it has been understood.
void Connection::read_head() {
  const auto end = head_.find("\r\n\r\n");
  if (end == head_.npos || end > limits::egress_head_bytes_max) {
    if (head_.size() > limits::egress_head_bytes_max)
      answer(431, "too_large", "the head of the request is too long");
    return;
  }
  const std::string head = std::exchange(head_, {});
  link_->grant(id_, static_cast<std::uint32_t>(end + 4));
  request(std::string_view(head).substr(0, end + 4));
  if (const auto rest = std::string_view(head).substr(end + 4); !rest.empty()) data(rest);
}

void Connection::request(std::string_view head) {
  auto request = parse_proxy_request(head);
  if (!request) return answer(request.error().status, "bad_request", request.error().why);
  request_ = std::move(*request);
  // A name that is not listed is never resolved: a look-up could carry data out.
  if (std::ranges::find(allow_, request_->endpoint) == allow_.end()) {
    refused_(request_->endpoint);
    return answer(403,
                  "blocked_by_policy",
                  fmt::format("{} is not on the list of this tool; do not try again", request_->endpoint));
  }
  dial_ = std::make_unique<Dial>(shared_.loop,
                                 shared_.workers,
                                 shared_.sandbox,
                                 shared_.rules,
                                 request_->endpoint,
                                 [this](Dial::Outcome outcome) { dialled(std::move(outcome)); });
}

void Connection::dialled(Dial::Outcome outcome) {
  const auto dial = std::move(dial_);  // it has called us, and ends when this returns
  if (outcome.refused) {
    refused_(request_->endpoint);
    return answer(403,
                  "blocked_by_policy",
                  fmt::format("{} leads to an address that is not to be reached; do not try again",
                              request_->endpoint));
  }
  if (!outcome.socket)
    return answer(502, "unreachable", fmt::format("{} could not be reached", request_->endpoint));
  origin_ = std::move(outcome.socket);
  to_origin_.insert(0, request_->head);
  if (request_->tunnel) send(connected);
  watch_again();
}

void Connection::answer(int status, std::string_view code, std::string_view text) {
  // The origin may be answering already: nothing can be said in its place, and there may be no credit for it.
  if (origin_) {
    link_->close(id_, true);
    return over_();
  }
  if (!request_) request_.emplace();
  send(proxy_answer(status, code, text));
  finish();
}

void Connection::send(std::string_view bytes) {
  may_send_ -= std::min<std::uint64_t>(may_send_, bytes.size());
  link_->send(id_, std::string(bytes));
}

void Connection::to_origin(std::string_view bytes) {
  const std::size_t taken = request_->body.take(bytes);
  if (request_->body.broken()) return answer(400, "bad_request", "the body is not chunked as it says");
  to_origin_.append(bytes.substr(0, taken));
  not_granted_ += static_cast<std::uint32_t>(taken);
  if (taken < bytes.size()) link_->grant(id_, static_cast<std::uint32_t>(bytes.size() - taken));
  if (origin_) watch_again();
}

void Connection::credit(std::uint32_t bytes) {
  may_send_ += bytes;
  if (origin_) watch_again();
}

void Connection::closed(bool broken) {
  client_finished_ = true;
  if (broken || answered_) return over_();
  // Half a request, whose rest does not come: it must not hold its place until the patience is over.
  if (!request_) return finish();
  if (origin_) watch_again();
}

void Connection::ready(std::uint32_t events) {
  active_at_ms_ = Loop::now_ms();
  if (events & EPOLLOUT) write();
  if (origin_ && (events & (EPOLLIN | EPOLLHUP | EPOLLERR))) read();
}

void Connection::write() {
  const auto written = ::send(origin_.get(), to_origin_.data(), to_origin_.size(), MSG_NOSIGNAL);
  if (written < 0 && errno != EAGAIN && errno != EINTR) return finish();
  if (written > 0) to_origin_.erase(0, static_cast<std::size_t>(written));
  // What is granted is what is the client's: the head before it is ours.
  const auto left = static_cast<std::uint32_t>(std::min<std::size_t>(to_origin_.size(), not_granted_));
  if (left < not_granted_) link_->grant(id_, std::exchange(not_granted_, left) - left);
  watch_again();
}

void Connection::read() {
  if (may_send_ == 0) return;
  std::array<char, read_bytes> buffer;
  const auto got = ::recv(origin_.get(), buffer.data(), std::min<std::uint64_t>(may_send_, buffer.size()), 0);
  if (got > 0) {
    send({buffer.data(), static_cast<std::size_t>(got)});
    return watch_again();
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  finish();
}

void Connection::watch_again() {
  if (to_origin_.empty() && client_finished_ && !std::exchange(shut_, true))
    ::shutdown(origin_.get(), SHUT_WR);
  std::uint32_t events = 0;
  if (may_send_ > 0) events |= EPOLLIN;
  if (!to_origin_.empty()) events |= EPOLLOUT;
  // Not watched while there is nothing to do: a hang-up would be told again and again.
  if (events == 0) {
    if (watch_) shared_.loop.unwatch(std::exchange(watch_, 0));
  } else if (watch_) {
    shared_.loop.change(watch_, events);
  } else {
    watch_ = shared_.loop.watch(origin_.get(), events, [this](std::uint32_t ready_for) { ready(ready_for); });
  }
}

/// Everything has been said to the client. It is over when the client has closed too.
void Connection::finish() {
  dial_.reset();
  if (watch_) shared_.loop.unwatch(std::exchange(watch_, 0));
  origin_.reset();
  if (not_granted_ > 0) link_->grant(id_, std::exchange(not_granted_, 0));
  answered_ = true;
  link_->close(id_, false);
  if (client_finished_) over_();
}

void Connection::idle() {
  const auto patience_ms = request_ ? limits::egress_idle_timeout_ms : limits::egress_head_timeout_ms;
  // The head has one time in all: byte by byte it is no progress.
  const auto until_ms = request_ ? active_at_ms_ + patience_ms : 0;
  if (until_ms > Loop::now_ms()) {
    alarm_ = shared_.loop.alarm(until_ms, [this] { idle(); });
    return;
  }
  alarm_ = 0;
  link_->close(id_, true);
  over_();
}

}  // namespace ratchet::sandbox
