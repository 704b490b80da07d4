#include "sandbox/guest/serve.hpp"

#include <csignal>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/guest/command.hpp"
#include "sandbox/guest/control.hpp"
#include "sandbox/guest/proxy.hpp"
#include "sandbox/guest/system.hpp"

namespace ratchet::guest {
namespace {

Identity identity_of_all;

class Server {
 public:
  explicit Server(const ServeOptions& options)
      : options_(options), command_(control_, options_.identity), proxy_(control_) {}

  [[noreturn]] void run();

 private:
  void handle(const Frame& frame);
  void set_up(const Frame& frame);
  void reap();

  ServeOptions options_;
  Control control_;
  Command command_;
  Proxy proxy_;
  PollSet set_;
  bool is_set_up_ = false;
  int signals_ = -1;
};

/// All are blocked: children are told by a descriptor, and a broken pipe by EPIPE. So nothing interrupts.
int open_signals() {
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  const int fd = ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) die("the end of children cannot be watched");
  return fd;
}

void Server::run() {
  signals_ = open_signals();
  control_.on_host_gone = [] {
    // Elsewhere everything ends with process 1.
    if (identity_of_all.mode == Mode::plain) kill_all(identity_of_all);
  };
  control_.send_u32(FrameType::ready, 0, sandbox::protocol_version);
  for (;;) {
    control_.flush();
    set_.clear();
    set_.add(control_.in(), POLLIN);
    if (control_.pending()) set_.add(control_.out(), POLLOUT);
    set_.add(signals_, POLLIN);
    command_.add_to(set_);
    proxy_.add_to(set_);
    set_.wait(command_.time_left_ms());
    // Output before the end: the pipes are emptied there too, but what is read here is not held up.
    command_.advance(set_);
    if (set_.ready(signals_) != 0) reap();
    if (set_.ready(control_.in()) != 0) {
      control_.receive();
      while (const auto frame = control_.next())
        handle(*frame);
    }
    if (!command_.running()) proxy_.close_all();
    proxy_.advance(set_);
  }
}

void Server::reap() {
  signalfd_siginfo told[8];
  while (::read(signals_, told, sizeof told) > 0) {
  }
  int status = 0;
  for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;)
    command_.reaped(pid, status);
}

void Server::set_up(const Frame& frame) {
  sandbox::PayloadReader reader(frame.payload);
  const auto processes = reader.u32();
  const auto proxy = reader.u8();
  if (is_set_up_ || !reader.complete()) die("the set-up cannot be understood");
  is_set_up_ = true;
  if (processes > 0) bound_processes(processes);
  if (proxy != 0) proxy_.listen(options_.proxy_port);
  control_.send(FrameType::set_up_done, 0, {});
}

void Server::handle(const Frame& frame) {
  sandbox::PayloadReader reader(frame.payload);
  // What is about a command that has ended has crossed with its end.
  const bool about_command = command_.running() && frame.id == command_.id();
  switch (frame.type) {
    case FrameType::set_up:
      return set_up(frame);
    case FrameType::start:
      if (!is_set_up_) die("a command before the set-up");
      return command_.start(frame, proxy_.port());
    case FrameType::input:
      if (about_command) command_.input(frame.payload);
      return;
    case FrameType::kill:
      if (about_command) command_.end(sandbox::EndedHow::killed, 0);
      return;
    case FrameType::data:
      return proxy_.on_data(frame.id, frame.payload);
    case FrameType::credit:
      return proxy_.on_credit(frame.id, reader.u32());
    case FrameType::close:
      return proxy_.on_close(frame.id, reader.u8() != 0);
    default:
      die("a frame of an unknown type");
  }
}

}  // namespace

void serve(const ServeOptions& options) {
  identity_of_all = options.identity;
  prepare(options.identity);
  if (options.identity.mode != Mode::plain) raise_loopback();
  Server(options).run();
}

}  // namespace ratchet::guest
