#include "http/client/curl_loop.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime/result.hpp"

namespace ratchet {

namespace {

constexpr int events_max = 256;  // of one turn; more come in the next
constexpr std::int64_t wait_ms_max = 60'000;

int epoll_wait_ms(std::optional<CurlLoop::Time> until) {
  if (!until) return static_cast<int>(wait_ms_max);
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(*until - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(wait.count(), 0, wait_ms_max));
}

bool watch(int epoll, int operation, int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  return ::epoll_ctl(epoll, operation, fd, &event) == 0;
}

}  // namespace

CurlLoop::CurlLoop(long idle_connections_max)
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)), bell_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  RATCHET_ENSURE(epoll_ >= 0 && bell_ >= 0, "no file descriptors for the HTTP client");
  RATCHET_ENSURE(watch(epoll_, EPOLL_CTL_ADD, bell_, EPOLLIN), "epoll does not take an eventfd");
  static const CURLcode global = curl_global_init(CURL_GLOBAL_DEFAULT);
  RATCHET_ENSURE(global == CURLE_OK, "libcurl does not initialise");
  multi_.reset(curl_multi_init());
  RATCHET_ENSURE(multi_ != nullptr, "libcurl gives no multi handle");
  curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, idle_connections_max);
  curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, on_socket);
  curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_.get(), CURLMOPT_TIMERFUNCTION, on_timer);
  curl_multi_setopt(multi_.get(), CURLMOPT_TIMERDATA, this);
}

CurlLoop::~CurlLoop() {
  close();
  ::close(bell_);
  ::close(epoll_);
}

void CurlLoop::close() {
  multi_ = nullptr;
}

void CurlLoop::add(CURL* easy) {
  const CURLMcode code = curl_multi_add_handle(multi_.get(), easy);
  RATCHET_ENSURE(code == CURLM_OK, curl_multi_strerror(code));
}

void CurlLoop::remove(CURL* easy) {
  const CURLMcode code = curl_multi_remove_handle(multi_.get(), easy);
  RATCHET_ENSURE(code == CURLM_OK, curl_multi_strerror(code));
}

void CurlLoop::ring() {
  const std::uint64_t one = 1;
  // A counter that is full rings too; nothing else can go wrong.
  (void)!::write(bell_, &one, sizeof one);
}

void CurlLoop::turn(std::optional<Time> until) {
  if (timer_ && (!until || *timer_ < *until)) until = timer_;
  std::array<epoll_event, events_max> events;
  const int count = ::epoll_wait(epoll_, events.data(), events_max, epoll_wait_ms(until));
  now_ = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.fd == bell_) {
      std::uint64_t rings = 0;
      (void)!::read(bell_, &rings, sizeof rings);
      continue;
    }
    act(event.data.fd,
        ((event.events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
            ((event.events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
            ((event.events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0));
  }
  if (timer_ && *timer_ <= now_) {
    timer_.reset();  // libcurl sets it anew where it needs one
    act(CURL_SOCKET_TIMEOUT, 0);
  }
}

void CurlLoop::act(curl_socket_t socket, int events) {
  int running = 0;
  const CURLMcode code = curl_multi_socket_action(multi_.get(), socket, events, &running);
  RATCHET_ENSURE(code == CURLM_OK, curl_multi_strerror(code));
}

std::pair<CURL*, CURLcode> CurlLoop::finished() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left))
    if (message->msg == CURLMSG_DONE) return {message->easy_handle, message->data.result};
  return {nullptr, CURLE_OK};
}

int CurlLoop::on_socket(CURL*, curl_socket_t socket, int what, void* user, void*) {
  const int epoll = static_cast<CurlLoop*>(user)->epoll_;
  if (what == CURL_POLL_REMOVE) {
    watch(epoll, EPOLL_CTL_DEL, socket, 0);  // fails where the socket is closed already, which removed it
    return 0;
  }
  const std::uint32_t events =
      ((what & CURL_POLL_IN) != 0 ? EPOLLIN : 0u) | ((what & CURL_POLL_OUT) != 0 ? EPOLLOUT : 0u);
  if (!watch(epoll, EPOLL_CTL_MOD, socket, events) && errno == ENOENT)
    RATCHET_ENSURE(watch(epoll, EPOLL_CTL_ADD, socket, events), "epoll does not take a socket of libcurl");
  return 0;
}

int CurlLoop::on_timer(CURLM*, long timeout_ms, void* user) {
  auto& timer = static_cast<CurlLoop*>(user)->timer_;
  if (timeout_ms < 0)
    timer.reset();
  else
    timer = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  return 0;
}

}  // namespace ratchet
