#include "http/server/server.hpp"

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include "http/server/session.hpp"

namespace ratchet {

namespace {

namespace asio = boost::asio;
using Code = boost::system::error_code;
using Tcp = asio::ip::tcp;

constexpr auto accept_pause = std::chrono::milliseconds(50);

std::string address_of(const sockaddr_storage& storage) {
  Tcp::endpoint endpoint;
  const bool v6 = storage.ss_family == AF_INET6;
  std::memcpy(endpoint.data(), &storage, v6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
  return endpoint.address().to_string();
}

}  // namespace

class Server::Impl {
 public:
  Impl(ServerOptions options, Handler handler)
      : options_(std::move(options)),
        handler_(std::move(handler)),
        descriptors_(options_.descriptors != nullptr ? *options_.descriptors : unbounded_),
        acceptor_(context_),
        timer_(context_),
        loop_(std::make_shared<Loop>(context_)),
        sessions_{.options = options_,
                  .handler = handler_,
                  .loop = loop_,
                  .open_count = descriptors_.clients,
                  .on_closed = [this] { on_session_closed(); }} {}

  ~Impl() { stop(); }

  Result<std::uint16_t> start() {
    Code error;
    const auto address = asio::ip::make_address(options_.address, error);
    if (error)
      return fail(ErrorCode::invalid_request, fmt::format("'{}' is no numeric address", options_.address));
    if (auto bound = listen({address, options_.port}); !bound) return tl::unexpected(bound.error());
    await_connection();
    work_.emplace(context_.get_executor());  // the thread goes on until `finish`
    thread_ = std::thread([this] { run(); });
    return acceptor_.local_endpoint().port();
  }

  void drain() {
    loop_->post([this] { begin_drain(); });
  }

  void stop() {
    if (!thread_.joinable()) return;
    loop_->post([this] { begin_stop(); });
    thread_.join();
    loop_->close();
    // What was posted after the thread had ended is run here: it finds only closed sessions.
    context_.restart();
    context_.run();
  }

  ServerCounts counts() const {
    return {descriptors_.clients, sessions_.total_count, sessions_.stream_count};
  }

 private:
  Result<void> listen(const Tcp::endpoint& endpoint) {
    Code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (!error) acceptor_.non_blocking(true, error);
    if (error)
      return fail(
          ErrorCode::invalid_request,
          fmt::format("cannot listen on {} port {}: {}", options_.address, options_.port, error.message()));
    // No child process (a tool, a sandbox) inherits the port.
    ::fcntl(acceptor_.native_handle(), F_SETFD, FD_CLOEXEC);
    return {};
  }

  void run() {
    // Signals belong to the main thread.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    pthread_setname_np(pthread_self(), "http");
    context_.run();
  }

  void await_connection() {
    if (accepting_ || sessions_.stopping || sessions_.open.size() >= options_.connections_max) return;
    accepting_ = true;
    acceptor_.async_wait(Tcp::acceptor::wait_read, [this](Code error) {
      accepting_ = false;
      if (!error) accept_all();
    });
  }

  void accept_all() {
    while (sessions_.open.size() < options_.connections_max && !sessions_.stopping) {
      if (!descriptors_.client_fits()) return pause_accepting();
      sockaddr_storage from{};
      socklen_t length = sizeof(from);
      const int fd = ::accept4(acceptor_.native_handle(),
                               reinterpret_cast<sockaddr*>(&from),
                               &length,
                               SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0 && (errno == ECONNABORTED || errno == EINTR)) continue;
      if (fd < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
      if (fd < 0) return pause_accepting();
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      open_session(context_, fd, address_of(from), sessions_);
    }
    await_connection();
  }

  /// Out of files or memory: the kernel keeps the connections waiting while others end.
  void pause_accepting() {
    accepting_ = true;
    timer_.expires_after(accept_pause);
    timer_.async_wait([this](Code error) {
      accepting_ = false;
      if (!error) await_connection();
    });
  }

  void on_session_closed() {
    if (sessions_.stopping && sessions_.open.empty()) return finish();
    await_connection();
  }

  void begin_drain() {
    sessions_.draining = true;
    const auto open = sessions_.open;  // sessions leave it as they close
    for (const auto& session : open)
      session->drain();
  }

  void begin_stop() {
    if (sessions_.stopping) return;
    sessions_.stopping = true;
    Code ignored;  // it is closed either way
    acceptor_.close(ignored);
    begin_drain();
    if (sessions_.open.empty()) return finish();
    timer_.expires_after(std::chrono::milliseconds(limits::linger_timeout_ms));
    timer_.async_wait([this](Code error) {
      if (error) return;
      const auto open = sessions_.open;
      for (const auto& session : open)
        session->close();
    });
  }

  void finish() {
    timer_.cancel();
    work_.reset();
  }

  ServerOptions options_;
  Handler handler_;
  Descriptors unbounded_{SIZE_MAX};
  Descriptors& descriptors_;
  asio::io_context context_{1};
  Tcp::acceptor acceptor_;
  asio::steady_timer timer_;  ///< a pause of accepting, later the end of the patience at `stop`
  std::shared_ptr<Loop> loop_;
  Sessions sessions_;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_;
  bool accepting_ = false;
  std::thread thread_;
};

Server::Server(ServerOptions options, Handler handler)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(handler))) {}

Server::~Server() = default;

Result<std::uint16_t> Server::start() {
  return impl_->start();
}

void Server::drain() {
  impl_->drain();
}

void Server::stop() {
  impl_->stop();
}

ServerCounts Server::counts() const {
  return impl_->counts();
}

}  // namespace ratchet
