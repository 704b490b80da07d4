#include "sandbox/launch/refusals.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <linux/seccomp.h>
#include <map>
#include <optional>
#include <seccomp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>

#include <fmt/format.h>

#include "runtime/limits.hpp"
#include "sandbox/launch/container_state.hpp"
#include "sandbox/launch/files.hpp"

namespace ratchet::sandbox {

namespace {

/// When the process has no descriptor left for who wants to be heard.
constexpr int rest_ms = 100;

std::string name_of(int call) {
  char* name = ::seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, call);
  std::string out = name != nullptr ? name : fmt::format("call {}", call);
  std::free(name);
  return out;
}

Result<Fd> listen_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return fail(
        ErrorCode::sandbox_unavailable,
        fmt::format("{} is too long for a socket (at most {} bytes)", path, sizeof address.sun_path - 1));
  std::copy(path.begin(), path.end(), address.sun_path);
  ::unlink(path.c_str());
  Fd out(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!out || ::bind(out.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(out.get(), 64) != 0)
    return system_error(fmt::format("cannot listen on {}", path));
  return out;
}

struct Delivery {
  std::string state;
  Fd listener;
};

/// What a runtime sends in one message: the state as JSON, and the descriptor to be asked on. A runtime that
/// cuts it into two is taken for none: its container then gets no answers but ENOSYS.
std::optional<Delivery> receive(int connection) {
  char bytes[16'384];
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 4)];
  iovec part{bytes, sizeof bytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const auto count = ::recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
  if (count <= 0) return std::nullopt;
  Delivery out;
  out.state.assign(bytes, static_cast<std::size_t>(count));
  for (auto* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const auto* fds = reinterpret_cast<const int*>(CMSG_DATA(header));
    const auto fds_count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t n = 0; n < fds_count; ++n)
      out.listener = Fd(fds[n]);
  }
  if (!out.listener) return std::nullopt;
  return out;
}

/// Of the same user: nobody else has business here.
bool is_ours(int connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == ::geteuid() || peer.uid == 0);
}

}  // namespace

void Refusals::add(const std::function<std::string()>& next) {
  const std::scoped_lock lock(mutex_);
  const auto call = next();
  if (call.empty()) return;
  ++since_.count;
  auto& names = since_.names;
  if (names.size() < limits::sandbox_names_max && std::find(names.begin(), names.end(), call) == names.end())
    names.emplace_back(call);
}

Refusals::Taken Refusals::take() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(since_, {});
}

class RefusalListener::Loop {
 public:
  Loop(Fd socket, Fd epoll, Fd stop)
      : socket_(std::move(socket)),
        epoll_(std::move(epoll)),
        stop_(std::move(stop)),
        thread_([this] { work(); }) {}

  ~Loop() {
    const std::uint64_t one = 1;
    (void)!::write(stop_.get(), &one, sizeof one);  // an eventfd takes it, unless it is full: then it is set
    thread_.join();
  }

  std::shared_ptr<Refusals> expect(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    return expected_[name] = std::make_shared<Refusals>();
  }

  void forget(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    expected_.erase(name);
  }

 private:
  /// A container's, by the number of its descriptor.
  struct Asking {
    Fd fd;
    std::shared_ptr<Refusals> to;
    std::uint32_t answered = 0;
  };

  bool watch(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  }

  void work() {
    watch(socket_.get());
    watch(stop_.get());
    for (;;) {
      epoll_event events[32];
      const int count = ::epoll_wait(epoll_.get(), events, 32, resting_ ? rest_ms : -1);
      if (std::exchange(resting_, false)) watch(socket_.get());
      for (int n = 0; n < count; ++n) {
        const int fd = events[n].data.fd;
        if (fd == stop_.get()) return;
        if (fd == socket_.get())
          accept();
        else if (const auto at = connections_.find(fd); at != connections_.end())
          take_delivery(at);
        else
          answer(fd, (events[n].events & EPOLLIN) != 0);
      }
    }
  }

  void accept() {
    Fd connection(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
      return rest();
    if (!connection || !is_ours(connection.get()) || !watch(connection.get())) return;
    const int number = connection.get();
    connections_.emplace(number, std::move(connection));
  }

  /// What waits goes on waiting, and would wake us again and again: there is nothing to take it with.
  void rest() {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket_.get(), nullptr);
    resting_ = true;
  }

  void take_delivery(std::map<int, Fd>::iterator at) {
    auto delivery = receive(at->second.get());
    connections_.erase(at);
    if (!delivery) return;
    const auto name = container_name(delivery->state);
    std::shared_ptr<Refusals> to;
    {
      const std::scoped_lock lock(mutex_);
      if (const auto found = expected_.find(name); found != expected_.end()) to = found->second;
    }
    const int number = delivery->listener.get();
    if (to && watch(number)) asking_[number] = {std::move(delivery->listener), std::move(to)};
  }

  void answer(int fd, bool asked) {
    const auto at = asking_.find(fd);
    if (at == asking_.end()) return;
    // Without its listener a refused call does not exist (ENOSYS): a tool cannot keep our thread busy.
    if (!asked || !answer_one(at->second) || ++at->second.answered >= limits::refusals_answered_max)
      asking_.erase(at);
  }

  /// False when nobody can ask any more.
  static bool answer_one(Asking& asking) {
    seccomp_notif call{};
    int error = 0;
    asking.to->add([&] {
      if (::ioctl(asking.fd.get(), SECCOMP_IOCTL_NOTIF_RECV, &call) == 0) return name_of(call.data.nr);
      error = errno;
      return std::string();
    });
    // ENOENT: who asked was killed meanwhile.
    if (error != 0) return error == ENOENT || error == EINTR;
    seccomp_notif_resp no{};
    no.id = call.id;
    no.error = -EPERM;
    return ::ioctl(asking.fd.get(), SECCOMP_IOCTL_NOTIF_SEND, &no) == 0 || errno == ENOENT;
  }

  Fd socket_, epoll_, stop_;
  bool resting_ = false;  ///< the socket is not watched
  std::map<int, Fd> connections_;
  std::map<int, Asking> asking_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Refusals>> expected_;
  std::thread thread_;
};

RefusalListener::RefusalListener(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}

RefusalListener::~RefusalListener() = default;

Result<std::unique_ptr<RefusalListener>> RefusalListener::open(const std::string& path) {
  auto socket = listen_at(path);
  if (!socket) return tl::unexpected(socket.error());
  Fd epoll(::epoll_create1(EPOLL_CLOEXEC)), stop(::eventfd(0, EFD_CLOEXEC));
  if (!epoll || !stop) return system_error("cannot wait for refused calls");
  auto loop = std::make_unique<Loop>(*std::move(socket), std::move(epoll), std::move(stop));
  return std::unique_ptr<RefusalListener>(new RefusalListener(std::move(loop)));
}

std::shared_ptr<Refusals> RefusalListener::expect(const std::string& name) {
  return loop_->expect(name);
}

void RefusalListener::forget(const std::string& name) {
  loop_->forget(name);
}

}  // namespace ratchet::sandbox
