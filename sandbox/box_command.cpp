// The command that is under way in a box, and what its end means.

#include <algorithm>
#include <cerrno>
#include <string>
#include <thread>
#include <utility>

#include "sandbox/box.hpp"

namespace ratchet::sandbox {
namespace {

bool has_nul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

/// The errno that the command would end with, if it could be told to the guest at all.
int start_error(const SandboxCommand& command) {
  if (command.argv.empty() || !command.argv.front().starts_with('/') || has_nul(command.directory) ||
      std::any_of(command.argv.begin(), command.argv.end(), has_nul))
    return EINVAL;
  return Channel::fits(command) ? 0 : E2BIG;
}

SandboxEnd::Kind kind_of(EndedHow how) {
  switch (how) {
    case EndedHow::exited:
      return SandboxEnd::Kind::exited;
    case EndedHow::signalled:
      return SandboxEnd::Kind::signalled;
    case EndedHow::timed_out:
      return SandboxEnd::Kind::timed_out;
    case EndedHow::too_much_output:
      return SandboxEnd::Kind::too_much_output;
    case EndedHow::killed:
      return SandboxEnd::Kind::killed;
    case EndedHow::not_started:
      return SandboxEnd::Kind::not_started;
  }
  return SandboxEnd::Kind::lost;
}

bool goes_on_after(SandboxEnd::Kind kind) {
  return kind == SandboxEnd::Kind::exited || kind == SandboxEnd::Kind::signalled ||
         kind == SandboxEnd::Kind::not_started;
}

}  // namespace

void Box::run(SandboxCommand command, SandboxHost::OnOutput on_output, SandboxHost::OnEnd on_end) {
  SandboxEnd end;
  if (state_ != State::idle) {
    end.why = why_not();
    return on_end(std::move(end));
  }
  if (end.code = start_error(command); end.code != 0) {
    end.kind = SandboxEnd::Kind::not_started;
    return on_end(std::move(end));
  }
  state_ = State::running;
  running_ = Running{std::move(on_output), std::move(on_end), std::move(end)};
  running_->since_ms = Loop::now_ms();
  running_->memory_deaths_before = launched_->memory_deaths();
  set_alarm(command.timeout_ms + parts_.kill_grace_ms, &Box::on_deadline);
  if (!std::exchange(frozen_, false)) return start(command);
  enqueue([](Launched& launched) { return launched.thaw(); },
          [this, command = std::move(command)](const Result<void>& thawed) {
            if (state_ != State::running) return;
            if (running_->killed) return lose(SandboxEnd::Kind::killed, "it was killed before it began");
            if (!thawed) return lose(SandboxEnd::Kind::lost, thawed.error().text);
            start(command);
          });
}

void Box::start(const SandboxCommand& command) {
  channel_.start(command);
  flush();
}

void Box::become_idle() {
  state_ = State::idle;
  set_alarm(parts_.idle_freeze_ms, &Box::on_idle);
}

void Box::on_idle() {
  frozen_ = true;
  enqueue([](Launched& launched) { return launched.freeze(); },
          [this](const Result<void>& frozen) {
            if (!frozen) lose(SandboxEnd::Kind::lost, frozen.error().text);
          });
}

void Box::kill() {
  if (state_ != State::running || running_->killed) return;
  running_->killed = true;
  set_alarm(parts_.kill_grace_ms, &Box::on_deadline);
  channel_.kill();
  flush();
}

void Box::on_deadline() {
  lose(running_->killed ? SandboxEnd::Kind::killed : SandboxEnd::Kind::timed_out,
       "its guest did not end the command in time");
}

void Box::on_ended(const guest_event::Ended& ended) {
  auto running = std::exchange(running_, std::nullopt);
  parts_.loop.cancel(std::exchange(alarm_, 0));
  auto& end = running->end;
  end.kind = kind_of(ended.how);
  end.code = ended.code;
  // The guest may say anything of it; more than all cores together it cannot have been.
  end.cpu_ms = static_cast<std::int64_t>(
      std::min<std::uint64_t>(ended.cpu_us / 1000,
                              static_cast<std::uint64_t>(Loop::now_ms() - running->since_ms + 1) *
                                  std::max(1u, std::thread::hardware_concurrency())));
  tell_end(std::move(*running), launched_->memory_deaths());
}

void Box::tell_end(Running running, std::uint64_t memory_deaths) {
  auto& end = running.end;
  end.wall_ms = Loop::now_ms() - running.since_ms;
  // Under gVisor a death by memory looks like any exit, and may take the sandbox with it or make it hang.
  const bool has_own_cause =
      end.kind == SandboxEnd::Kind::killed || end.kind == SandboxEnd::Kind::too_much_output;
  if (memory_deaths != running.memory_deaths_before && !has_own_cause) {
    end.kind = SandboxEnd::Kind::out_of_memory;
    end.code = 0;
  }
  if (state_ == State::running) state_ = State::telling;
  telling_ = true;
  gather_evidence(std::make_shared<Running>(std::move(running)));
}

void Box::gather_evidence(std::shared_ptr<Running> running) {
  const auto from_launched = [this, running] {
    enqueue(
        [running](Launched& launched) -> Result<void> {
          auto held = launched.take_evidence();
          running->end.evidence.refused_syscalls = held.refused_syscalls;
          running->end.evidence.syscalls = std::move(held.syscalls);
          return {};
        },
        [this, running](const Result<void>&) { told(*running); });
  };
  if (!egress_granted_) return from_launched();
  parts_.egress.take_evidence(
      id_, [self = shared_from_this(), running, from_launched](SandboxEvidence evidence) mutable {
        auto& loop = self->parts_.loop;
        loop.post([self = std::move(self), running, from_launched, evidence = std::move(evidence)]() mutable {
          running->end.evidence = std::move(evidence);
          from_launched();
        });
      });
}

void Box::told(Running& running) {
  if (state_ == State::telling && goes_on_after(running.end.kind)) {
    become_idle();
  } else if (state_ == State::telling) {
    if (why_over_.empty()) why_over_ = "its last command ended it";
    stop_listening();
    become_over();
  }
  telling_ = false;
  running.on_end(std::move(running.end));
  if (state_ == State::over && destroyed_) remove(std::exchange(destroyed_, nullptr));
}

}  // namespace ratchet::sandbox
