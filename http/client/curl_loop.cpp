#include "http/client/curl_loop.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime/limits.hpp"
#include "runtime/result.hpp"

namespace ratchet {

namespace {

constexpr int events_max = 256;  // of one turn; more come in the next
constexpr std::int64_t wait_ms_max = 60'000;

constexpr std::uint32_t bell_number = UINT32_MAX;  // of no lane

/// What epoll says of a socket: its lane and the socket.
constexpr std::uint64_t tag(std::uint32_t lane, int fd) {
  return std::uint64_t{lane} << 32 | static_cast<std::uint32_t>(fd);
}

int epoll_wait_ms(std::optional<CurlLoop::Time> until) {
  if (!until) return static_cast<int>(wait_ms_max);
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(*until - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(wait.count(), 0, wait_ms_max));
}

bool watch(int epoll, int operation, int fd, std::uint32_t events, std::uint32_t lane) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag(lane, fd);
  return ::epoll_ctl(epoll, operation, fd, &event) == 0;
}

}  // namespace

CurlLoop::CurlLoop(std::size_t lane_calls_max, std::chrono::milliseconds lane_rest)
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      bell_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      lane_calls_max_(lane_calls_max),
      lane_rest_(lane_rest) {
  RATCHET_ENSURE(epoll_ >= 0 && bell_ >= 0, "no file descriptors for the HTTP client");
  RATCHET_ENSURE(watch(epoll_, EPOLL_CTL_ADD, bell_, EPOLLIN, bell_number), "epoll does not take an eventfd");
  static const CURLcode global = curl_global_init(CURL_GLOBAL_DEFAULT);
  RATCHET_ENSURE(global == CURLE_OK, "libcurl does not initialise");
}

CurlLoop::~CurlLoop() {
  close();
  ::close(bell_);
  ::close(epoll_);
}

void CurlLoop::close() {
  lanes_.clear();
}

CurlLoop::Lane& CurlLoop::lane_for_next() {
  for (const auto& lane : lanes_)
    if (lane->calls < lane_calls_max_) return *lane;
  lanes_.push_back(std::make_unique<Lane>(Lane{epoll_, static_cast<std::uint32_t>(lanes_.size())}));
  return *lanes_.back();
}

void CurlLoop::open(Lane& lane) const {
  lane.multi.reset(curl_multi_init());
  RATCHET_ENSURE(lane.multi != nullptr, "libcurl gives no multi handle");
  CURLM* multi = lane.multi.get();
  const auto idle = lane_calls_max_ / limits::calls_per_idle_connection;
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, static_cast<long>(lane_calls_max_ + idle));
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, &lane);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, &lane);
}

std::size_t CurlLoop::add(CURL* easy) {
  Lane& lane = lane_for_next();
  if (!lane.multi) open(lane);
  const CURLMcode code = curl_multi_add_handle(lane.multi.get(), easy);
  RATCHET_ENSURE(code == CURLM_OK, curl_multi_strerror(code));
  ++lane.calls;
  return lane.number;
}

void CurlLoop::remove(CURL* easy, std::size_t number) {
  Lane& lane = *lanes_.at(number);
  const CURLMcode code = curl_multi_remove_handle(lane.multi.get(), easy);
  RATCHET_ENSURE(code == CURLM_OK, curl_multi_strerror(code));
  --lane.calls;
  lane.last_used = now_;
}

void CurlLoop::ring() {
  const std::uint64_t one = 1;
  // A counter that is full rings too; nothing else can go wrong.
  (void)!::write(bell_, &one, sizeof one);
}

void CurlLoop::turn(std::optional<Time> until) {
  for (const auto& lane : lanes_) {
    if (lane->timer && (!until || *lane->timer < *until)) until = lane->timer;
    if (const auto due = close_due(*lane); due && (!until || *due < *until)) until = due;
  }
  std::array<epoll_event, events_max> events;
  const int count = ::epoll_wait(epoll_, events.data(), events_max, epoll_wait_ms(until));
  now_ = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.u64 == tag(bell_number, bell_)) {
      std::uint64_t rings = 0;
      (void)!::read(bell_, &rings, sizeof rings);
      continue;
    }
    lanes_[event.data.u64 >> 32]->act(
        static_cast<int>(event.data.u64 & UINT32_MAX),
        ((event.events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
            ((event.events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
            ((event.events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0));
  }
  for (const auto& lane : lanes_) {
    if (lane->timer && *lane->timer <= now_) {
      lane->timer.reset();  // libcurl sets it anew where it needs one
      lane->act(CURL_SOCKET_TIMEOUT, 0);
    }
    if (const auto due = close_due(*lane); due && *due <= now_) lane->close();
  }
}

void CurlLoop::Lane::act(curl_socket_t socket, int events) {
  int running = 0;
  const CURLMcode code = curl_multi_socket_action(multi.get(), socket, events, &running);
  RATCHET_ENSURE(code == CURLM_OK, curl_multi_strerror(code));
  acted = true;
}

std::optional<CurlLoop::Time> CurlLoop::close_due(const Lane& lane) const {
  if (!lane.multi || lane.calls > 0) return std::nullopt;
  return lane.last_used + lane_rest_;
}

void CurlLoop::Lane::close() {
  multi.reset();
  timer.reset();
  acted = false;
}

std::pair<CURL*, CURLcode> CurlLoop::finished() {
  int left = 0;
  for (const auto& lane : lanes_) {
    if (!lane->acted) continue;
    while (const CURLMsg* message = curl_multi_info_read(lane->multi.get(), &left))
      if (message->msg == CURLMSG_DONE) return {message->easy_handle, message->data.result};
    lane->acted = false;
  }
  return {nullptr, CURLE_OK};
}

int CurlLoop::on_socket(CURL*, curl_socket_t socket, int what, void* user, void*) {
  const Lane& lane = *static_cast<Lane*>(user);
  if (what == CURL_POLL_REMOVE) {
    // Fails where the socket is closed already, which removed it.
    watch(lane.epoll, EPOLL_CTL_DEL, socket, 0, lane.number);
    return 0;
  }
  const std::uint32_t events =
      ((what & CURL_POLL_IN) != 0 ? EPOLLIN : 0u) | ((what & CURL_POLL_OUT) != 0 ? EPOLLOUT : 0u);
  if (!watch(lane.epoll, EPOLL_CTL_MOD, socket, events, lane.number) && errno == ENOENT)
    RATCHET_ENSURE(watch(lane.epoll, EPOLL_CTL_ADD, socket, events, lane.number),
                   "epoll does not take a socket of libcurl");
  return 0;
}

int CurlLoop::on_timer(CURLM*, long timeout_ms, void* user) {
  auto& timer = static_cast<Lane*>(user)->timer;
  if (timeout_ms < 0)
    timer.reset();
  else
    timer = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  return 0;
}

}  // namespace ratchet
