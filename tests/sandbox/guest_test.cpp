// The guest itself, as a plain child of the test: what it starts, streams, bounds, kills and tells.

#include <cerrno>
#include <csignal>
#include <poll.h>
#include <string>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/channel/channel.hpp"
#include "tests/sandbox/guest_program.hpp"

namespace ratchet::sandbox {
namespace {

using testing::HasSubstr;

constexpr std::size_t output_bytes_max = 1u << 20;

SandboxCommand shell(std::string script) {
  SandboxCommand command;
  command.argv = {"/bin/sh", "-c", std::move(script)};
  command.directory = "/tmp";
  command.output_bytes_max = output_bytes_max;
  command.timeout_ms = 60'000;
  return command;
}

/// A guest that has been set up, and the host's side of the talk with it, blocking.
class Guest : public testing::Test {
 protected:
  struct End {
    std::string out, err;
    EndedHow how = EndedHow::exited;
    int code = -1;
  };

  Guest() {
    RATCHET_ENSURE(std::holds_alternative<guest_event::Ready>(next()), "the guest did not greet");
    channel_.set_up({});
    RATCHET_ENSURE(std::holds_alternative<guest_event::SetUp>(next()), "the guest was not set up");
  }

  void write_all() {
    while (!channel_.outgoing().empty()) {
      const auto bytes = channel_.outgoing();
      const auto count =
          ::write(process_.to().get(), bytes.data(), std::min<std::size_t>(bytes.size(), 4'096));
      ASSERT_GT(count, 0);
      channel_.sent(static_cast<std::size_t>(count));
    }
  }

  GuestEvent next() {
    for (;;) {
      write_all();
      if (auto event = channel_.next()) return std::move(*event);
      pollfd ready{process_.from().get(), POLLIN, 0};
      RATCHET_ENSURE(::poll(&ready, 1, 60'000) == 1, "the guest says nothing");
      static char bytes[64 << 10];
      const auto count = ::read(process_.from().get(), bytes, sizeof bytes);
      if (count <= 0) return guest_event::Broken{"the guest has ended"};
      channel_.feed({bytes, static_cast<std::size_t>(count)});
    }
  }

  /// `on_output` is called after each piece of output.
  End run(SandboxCommand command, const std::function<void(const End&)>& on_output = {}) {
    channel_.start(std::move(command));
    End end;
    for (;;) {
      const auto event = next();
      if (const auto* output = std::get_if<guest_event::Output>(&event)) {
        (output->error ? end.err : end.out) += output->bytes;
        if (on_output) on_output(end);
      } else if (const auto* ended = std::get_if<guest_event::Ended>(&event)) {
        end.how = ended->how;
        end.code = ended->code;
        return end;
      } else {
        const auto* broken = std::get_if<guest_event::Broken>(&event);
        ADD_FAILURE() << (broken ? broken->why : "an event that is not of a command");
        return end;
      }
    }
  }

  PipedProcess process_{plain_guest()};
  Channel channel_;
};

TEST_F(Guest, TellsOutputAndExitStatus) {
  const auto end = run(shell("echo out; echo err >&2; exit 7"));
  EXPECT_EQ(end.out, "out\n");
  EXPECT_EQ(end.err, "err\n");
  EXPECT_EQ(end.how, EndedHow::exited);
  EXPECT_EQ(end.code, 7);
}

TEST_F(Guest, KeepsTheOrderOfOneStream) {
  auto command = shell("for i in 1 2 3; do echo o$i; echo e$i >&2; done");
  command.one_stream = true;
  const auto end = run(std::move(command));
  EXPECT_EQ(end.out, "o1\ne1\no2\ne2\no3\ne3\n");
  EXPECT_EQ(end.err, "");
}

TEST_F(Guest, FeedsInputAndThenItsEnd) {
  auto command = shell("cat");
  for (int line = 0; line < 60'000; ++line)
    command.input += std::to_string(line) + "\n";
  const auto input = command.input;
  ASSERT_GT(input.size(), input_window_bytes);
  EXPECT_EQ(run(std::move(command)).out, input);
}

TEST_F(Guest, LetsACommandIgnoreItsInput) {
  auto command = shell("exec 0<&-; echo done");
  command.input = std::string(1u << 20, 'i');
  EXPECT_EQ(run(std::move(command)).out, "done\n");
  EXPECT_EQ(run(shell("echo next")).out, "next\n");
}

TEST_F(Guest, GivesAnEmptyInputWhereThereIsNone) {
  EXPECT_EQ(run(shell("wc -c")).out, "0\n");
}

TEST_F(Guest, CutsOutputAtExactlyItsBound) {
  const auto end = run(shell("yes"));
  EXPECT_EQ(end.how, EndedHow::too_much_output);
  EXPECT_EQ(end.out.size(), output_bytes_max);
  auto command = shell("printf 12345; printf 67890 >&2");
  command.output_bytes_max = 10;
  EXPECT_EQ(run(command).how, EndedHow::exited);
  command.output_bytes_max = 9;
  EXPECT_EQ(run(command).how, EndedHow::too_much_output);
}

TEST_F(Guest, KillsAtTheDeadlineWhoIgnoresEverySignal) {
  auto command = shell("trap '' TERM INT HUP; echo started; while :; do :; done");
  command.timeout_ms = 300;
  const auto end = run(std::move(command));
  EXPECT_EQ(end.how, EndedHow::timed_out);
}

TEST_F(Guest, KillsAtTheDeadlineWhoHasStoppedItself) {
  auto command = shell("kill -STOP $$");
  command.timeout_ms = 300;
  EXPECT_EQ(run(std::move(command)).how, EndedHow::timed_out);
}

TEST_F(Guest, KillsWhenTold) {
  const auto end = run(shell("echo started; sleep 1000"), [&](const End&) { channel_.kill(); });
  EXPECT_EQ(end.how, EndedHow::killed);
  EXPECT_EQ(end.out, "started\n");
}

TEST_F(Guest, TellsASignal) {
  const auto end = run(shell("kill -SEGV $$"));
  EXPECT_EQ(end.how, EndedHow::signalled);
  EXPECT_EQ(end.code, SIGSEGV);
}

/// The number of a process that the command left in another session, holding its output.
pid_t left_behind(const std::string& out) {
  return static_cast<pid_t>(std::stol(out));
}

TEST_F(Guest, EndsWithTheForegroundProcessAndLeavesNobody) {
  // An orphan in a session of its own that ignores signals and holds standard error open.
  const auto end =
      run(shell("{ setsid sh -c 'trap \"\" TERM HUP; echo $$; exec sleep 1000' & } | { read pid; echo $pid; "
                "}; exit 4"));
  EXPECT_EQ(end.how, EndedHow::exited);
  EXPECT_EQ(end.code, 4);
  ASSERT_NE(end.out, "");
  EXPECT_EQ(::kill(left_behind(end.out), 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST_F(Guest, LeavesNobodyWhereTheHostGoes) {
  channel_.start(shell("setsid sh -c 'echo $$; exec sleep 1000' & sleep 1000"));
  const auto event = next();
  const auto* output = std::get_if<guest_event::Output>(&event);
  ASSERT_NE(output, nullptr);
  const auto pid = left_behind(std::string(output->bytes));
  ASSERT_EQ(::kill(pid, 0), 0);
  process_.to().reset();
  EXPECT_EQ(process_.wait(), 0);
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST_F(Guest, TellsWhyAProgramCannotBeStarted) {
  auto command = shell("");
  command.argv = {"/no/such/program"};
  auto end = run(command);
  EXPECT_EQ(end.how, EndedHow::not_started);
  EXPECT_EQ(end.code, ENOENT);
  command.argv = {"/etc/passwd"};
  EXPECT_EQ(run(command).code, EACCES);
  command = shell("true");
  command.directory = "/no/such/directory";
  EXPECT_EQ(run(command).code, ENOENT);
  command.argv = {"/bin/echo", std::string(200u << 10, 'x')};
  command.directory = "/";
  EXPECT_EQ(run(command).code, E2BIG);
  EXPECT_EQ(run(shell("echo next")).out, "next\n");
}

TEST_F(Guest, GivesItsOwnEnvironmentAndDescriptorsToNobody) {
  const auto end = run(shell("env | sort; ls /proc/self/fd | wc -l; pwd"));
  EXPECT_EQ(end.out, "HOME=/home/tool\nLANG=C.UTF-8\nPATH=/usr/local/bin:/usr/bin:/bin\nPWD=/tmp\n4\n/tmp\n");
}

TEST_F(Guest, StartsCommandsThatCannotGainPower) {
  EXPECT_THAT(run(shell("grep NoNewPrivs /proc/self/status")).out, HasSubstr("1"));
}

TEST_F(Guest, PassesBytesAsTheyAre) {
  EXPECT_EQ(run(shell("printf '\\033[0m\\000\\377\\376'")).out, std::string("\033[0m\0\xff\xfe", 7));
}

TEST_F(Guest, LetsACommandOpenItsOutputByName) {
  EXPECT_EQ(run(shell("echo hello > /dev/stdout")).out, "hello\n");
}

TEST_F(Guest, ServesManyCommandsOneAfterTheOther) {
  for (int at = 0; at < 50; ++at)
    ASSERT_EQ(run(shell("echo " + std::to_string(at))).out, std::to_string(at) + "\n");
}

}  // namespace

TEST(GuestProgram, RefusesToBeProcessOneWhereItIsNot) {
  PipedProcess process({guest_path(), "serve"});
  EXPECT_EQ(process.wait(), 1);
}

}  // namespace ratchet::sandbox
