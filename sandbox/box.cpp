#include "sandbox/box.hpp"

#include <cerrno>
#include <fcntl.h>
#include <mutex>
#include <sys/epoll.h>
#include <utility>
#include <variant>

#include "runtime/limits.hpp"

namespace ratchet::sandbox {
namespace {

constexpr std::size_t read_bytes = 256u << 10;

Result<void> unavailable(SandboxId id, const std::string& why) {
  return fail(ErrorCode::sandbox_unavailable, "sandbox " + std::to_string(id) + ": " + why);
}

void make_nonblocking(const Fd& fd) {
  RATCHET_ENSURE(::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK) == 0,
                 "a launcher returns pipes");
  // More at once where the machine allows it; else it works as well.
  (void)::fcntl(fd.get(), F_SETPIPE_SZ, static_cast<int>(read_bytes));
}

}  // namespace

/// What the egress side holds of a box: from any thread, and of use only until the box cuts it.
class Box::Link final : public EgressLink {
 public:
  Link(Loop& loop, std::weak_ptr<Box> box) : loop_(&loop), box_(std::move(box)) {}

  void cut() {
    const std::lock_guard lock(mutex_);
    loop_ = nullptr;
  }

  void send(ConnectionId connection, std::string bytes) override {
    later([connection, bytes = std::move(bytes)](Channel& channel) { channel.send(connection, bytes); });
  }

  void grant(ConnectionId connection, std::uint32_t bytes) override {
    later([connection, bytes](Channel& channel) { channel.grant(connection, bytes); });
  }

  void close(ConnectionId connection, bool broken) override {
    later([connection, broken](Channel& channel) { channel.close(connection, broken); });
  }

 private:
  void later(std::function<void(Channel&)> what) {
    const std::lock_guard lock(mutex_);
    if (loop_ == nullptr) return;
    loop_->post([box = box_, what = std::move(what)] {
      const auto self = box.lock();
      if (!self || self->readable_ == 0) return;
      what(self->channel_);
      self->flush();
    });
  }

  std::mutex mutex_;
  Loop* loop_;
  const std::weak_ptr<Box> box_;
};

Box::Box(BoxParts& parts, SandboxId id, Started started)
    : parts_(parts),
      id_(id),
      to_guest_(std::move(started.to_guest)),
      from_guest_(std::move(started.from_guest)),
      launched_(std::move(started.sandbox)),
      pids_inside_(started.pids_inside) {}

Box::~Box() = default;

// --- from the start to the lease
// --------------------------------------------------------------------------------

void Box::begin(OnDone done) {
  pending_ = std::move(done);
  make_nonblocking(to_guest_);
  make_nonblocking(from_guest_);
  const auto self = shared_from_this();
  readable_ = parts_.loop.watch(from_guest_.get(), EPOLLIN, [self](std::uint32_t) { self->on_readable(); });
  set_alarm(parts_.create_timeout_ms, &Box::on_silence);
}

void Box::lease(SandboxLease lease, OnDone done) {
  if (state_ != State::resting) return done(unavailable(id_, "it cannot be leased: " + why_not()));
  state_ = State::leasing;
  pending_ = std::move(done);
  lease_ = std::move(lease);
  std::string directory;
  if (lease_->filesystem == Filesystem::workspace) {
    directory = parts_.workspace_of(lease_->run);
    if (directory.empty())
      return lose(SandboxEnd::Kind::lost, "the workspace of " + to_string(lease_->run) + " is not open");
  }
  set_alarm(parts_.create_timeout_ms, &Box::on_silence);
  enqueue(
      [lease = *lease_, directory](Launched& launched) {
        auto leased = launched.lease(lease, directory);
        return leased ? launched.thaw() : leased;
      },
      [this](Result<void> result) {
        if (state_ != State::leasing) return;
        if (!result) return lose(SandboxEnd::Kind::lost, result.error().text);
        channel_.set_up({pids_inside_ ? lease_->limits.pids : 0, !lease_->network_allow.empty()});
        flush();
      });
}

void Box::give_up(std::string why) {
  lose(SandboxEnd::Kind::lost, std::move(why));
}

void Box::on_silence() {
  lose(SandboxEnd::Kind::lost, "its guest did not answer");
}

// --- the end
// ----------------------------------------------------------------------------------------------------

void Box::lose(SandboxEnd::Kind kind, std::string why) {
  if (state_ == State::ending || state_ == State::over) return;
  state_ = State::ending;
  why_over_ = std::move(why);
  stop_listening();
  // Beside whatever blocks: it may be what has to be ended.
  parts_.killers.submit([self = shared_from_this(), kind]() mutable {
    self->launched_->kill();
    auto& loop = self->parts_.loop;
    loop.post([self = std::move(self), kind] {
      if (auto running = std::exchange(self->running_, std::nullopt)) {
        running->end.kind = kind;
        running->end.why = self->why_over_;
        self->tell_end(std::move(*running), self->launched_->memory_deaths());
      }
      self->become_over();
    });
  });
}

void Box::become_over() {
  state_ = State::over;
  if (std::exchange(egress_granted_, false)) parts_.egress.forget(id_);
  if (pending_) settle(pending_, unavailable(id_, why_over_));
  if (destroyed_ && !telling_) remove(std::exchange(destroyed_, nullptr));
}

void Box::destroy(OnDone done) {
  lose(SandboxEnd::Kind::lost, "it was destroyed");
  if (state_ == State::ending || telling_)
    destroyed_ = std::move(done);
  else
    remove(std::move(done));
}

void Box::remove(OnDone done) {
  enqueue(
      [](Launched& launched) {
        launched.kill();
        return launched.destroy();
      },
      std::move(done));
}

std::string Box::why_not() const {
  switch (state_) {
    case State::starting:
      return "it has not started yet";
    case State::resting:
      return "it was not leased";
    case State::leasing:
      return "it is being leased";
    case State::idle:
      return "it is leased";
    case State::running:
    case State::telling:
      return "a command is under way";
    case State::ending:
    case State::over:
      return why_over_;
  }
  return {};
}

void Box::stop_listening() {
  parts_.loop.cancel(std::exchange(alarm_, 0));
  parts_.loop.unwatch(std::exchange(readable_, 0));
  parts_.loop.unwatch(std::exchange(writable_, 0));
  if (link_) link_->cut();
}

// --- the pipes
// --------------------------------------------------------------------------------------------------

void Box::on_readable() {
  thread_local std::string buffer(read_bytes, '\0');
  const auto count = ::read(from_guest_.get(), buffer.data(), buffer.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return lose(SandboxEnd::Kind::lost, "its guest has ended");
  channel_.feed({buffer.data(), static_cast<std::size_t>(count)});
  while (readable_ != 0) {
    auto event = channel_.next();
    if (!event) break;
    handle(std::move(*event));
  }
  if (readable_ != 0) flush();
}

void Box::handle(GuestEvent event) {
  struct Handler {
    Box& box;

    void operator()(const guest_event::Ready&) {
      box.parts_.loop.cancel(std::exchange(box.alarm_, 0));
      box.enqueue([](Launched& launched) { return launched.freeze(); },
                  [&box = box](Result<void> result) {
                    if (box.state_ != State::starting) return;
                    if (!result) return box.lose(SandboxEnd::Kind::lost, result.error().text);
                    box.state_ = State::resting;
                    box.settle(box.pending_, {});
                  });
    }

    void operator()(const guest_event::SetUp&) {
      box.parts_.loop.cancel(std::exchange(box.alarm_, 0));
      box.become_idle();
      if (!box.lease_->network_allow.empty()) {
        box.link_ = std::make_shared<Link>(box.parts_.loop, box.weak_from_this());
        box.egress_granted_ = true;
        box.parts_.egress.grant(box.id_, box.lease_->network_allow, box.link_);
      }
      box.settle(box.pending_, {});
    }

    void operator()(const guest_event::Output& output) {
      auto& running = *box.running_;
      (output.error ? running.end.err : running.end.out).append(output.bytes);
      if (running.on_output) running.on_output(output.bytes);
    }

    void operator()(const guest_event::Ended& ended) { box.on_ended(ended); }

    void operator()(const guest_event::Opened& opened) {
      box.parts_.egress.opened(box.id_, opened.connection);
    }

    void operator()(const guest_event::Data& data) {
      box.parts_.egress.data(box.id_, data.connection, data.bytes);
    }

    void operator()(const guest_event::Credit& credit) {
      box.parts_.egress.credit(box.id_, credit.connection, credit.bytes);
    }

    void operator()(const guest_event::Closed& closed) {
      box.parts_.egress.closed(box.id_, closed.connection, closed.broken);
    }

    void operator()(const guest_event::Broken& broken) { box.lose(SandboxEnd::Kind::lost, broken.why); }
  };

  std::visit(Handler{*this}, event);
}

void Box::flush() {
  if (readable_ == 0) return;
  while (!channel_.outgoing().empty()) {
    const auto bytes = channel_.outgoing();
    const auto count = ::write(to_guest_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count < 0) return lose(SandboxEnd::Kind::lost, "its guest does not listen any more");
    channel_.sent(static_cast<std::size_t>(count));
  }
  const bool waits = !channel_.outgoing().empty();
  if (waits && writable_ == 0)
    writable_ = parts_.loop.watch(
        to_guest_.get(), EPOLLOUT, [self = shared_from_this()](std::uint32_t) { self->flush(); });
  else if (!waits)
    parts_.loop.unwatch(std::exchange(writable_, 0));
}

// --- what blocks
// ------------------------------------------------------------------------------------------------

void Box::enqueue(std::function<Result<void>(Launched&)> task, std::function<void(Result<void>)> then) {
  tasks_.push_back({std::move(task), std::move(then)});
  if (!task_under_way_) next_task();
}

void Box::next_task() {
  if (tasks_.empty()) return;
  task_under_way_ = true;
  parts_.workers.submit([self = shared_from_this(), task = std::move(tasks_.front())]() mutable {
    auto result = task.what(*self->launched_);
    auto& loop = self->parts_.loop;
    loop.post([self = std::move(self), then = std::move(task.then), result = std::move(result)]() mutable {
      self->task_under_way_ = false;
      then(std::move(result));
      if (!self->task_under_way_) self->next_task();
    });
  });
  tasks_.pop_front();
}

void Box::set_alarm(std::int64_t after_ms, void (Box::*what)()) {
  parts_.loop.cancel(std::exchange(alarm_, 0));
  alarm_ = parts_.loop.alarm(Loop::now_ms() + after_ms, [self = shared_from_this(), what] {
    self->alarm_ = 0;
    ((*self).*what)();
  });
}

void Box::settle(OnDone& done, Result<void> result) {
  auto call = std::exchange(done, nullptr);
  call(std::move(result));
}

}  // namespace ratchet::sandbox
