#include "sandbox/guest/command.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ratchet::guest {

using sandbox::CommandFrame;
using sandbox::EndedHow;

namespace {

/// Nothing of the guest's own environment. PWD, since /workspace is a link, whose target nobody has to know.
std::vector<std::string> environment_of(const std::string& directory, std::uint16_t proxy_port) {
  std::vector<std::string> out = {
      "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/tool", "LANG=C.UTF-8", "PWD=" + directory};
  if (proxy_port == 0) return out;
  for (const char* name : {"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"})
    out.push_back(std::string(name) + "=http://127.0.0.1:" + std::to_string(proxy_port));
  return out;
}

bool read_command(std::string_view payload, CommandFrame& limits, Spawn& spawn) {
  sandbox::PayloadReader reader(payload);
  limits = {reader.u64(), reader.u64(), reader.u32(), reader.u8()};
  spawn.directory = reader.text();
  const auto words = reader.u32();
  if (words == 0 || words > limits::sandbox_argv_max) return false;
  for (std::uint32_t at = 0; at < words; ++at)
    spawn.words.emplace_back(reader.text());
  return reader.complete();
}

bool make_nonblocking(int fd) {
  return ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK) == 0;
}

void close_spawned(Spawn& spawn) {
  if (spawn.error != spawn.out) close_fd(spawn.error);
  close_fd(spawn.out);
  close_fd(spawn.in);
}

}  // namespace

void Command::start(const Frame& frame, std::uint16_t proxy_port) {
  CommandFrame limits;
  Spawn spawn;
  if (running() || !read_command(frame.payload, limits, spawn)) die("a command cannot be understood");
  id_ = frame.id;
  output_left_ = limits.output_bytes_max;
  deadline_ms_ = now_ms() + static_cast<std::int64_t>(limits.timeout_ms);
  cpu_before_us_ = reaped_cpu_us();
  input_.clear();
  input_left_ = limits.input_bytes;
  spawn.environment = environment_of(spawn.directory, proxy_port);
  const bool opened = open_streams(limits, spawn);
  const pid_t pid = opened ? spawn_process(identity_, spawn) : -errno;
  close_spawned(spawn);
  if (pid < 0) return not_started(-pid);
  pid_ = pid;
}

bool Command::open_streams(const CommandFrame& limits, Spawn& spawn) {
  int ends[2];
  if (limits.input_bytes == 0) {
    spawn.in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (spawn.in < 0) return false;
  } else {
    if (!make_pipe(identity_, ends)) return false;
    spawn.in = ends[0];
    in_ = ends[1];
    if (!make_nonblocking(in_)) return false;
  }
  if (!make_pipe(identity_, ends)) return false;
  out_ = ends[0];
  spawn.out = spawn.error = ends[1];
  if (!make_nonblocking(out_)) return false;
  if (limits.one_stream != 0) return true;
  if (!make_pipe(identity_, ends)) return false;
  error_ = ends[0];
  spawn.error = ends[1];
  return make_nonblocking(error_);
}

void Command::not_started(int error) {
  for (int* fd : {&in_, &out_, &error_})
    close_fd(*fd);
  std::string payload;
  sandbox::PayloadWriter(payload)
      .u8(static_cast<std::uint8_t>(EndedHow::not_started))
      .u32(static_cast<std::uint32_t>(error))
      .u64(0);
  control_.send(FrameType::ended, id_, payload);
}

void Command::input(std::string_view bytes) {
  if (bytes.size() > input_left_ - input_.size() ||
      input_.size() + bytes.size() > sandbox::input_window_bytes)
    die("more input than was announced");
  input_.append(bytes);
  feed();
}

void Command::feed() {
  while (!input_.empty()) {
    // One that does not read its input any more is fed into the void, so that the host gets rid of it.
    const auto count =
        in_ < 0 ? static_cast<ssize_t>(input_.size()) : ::write(in_, input_.data(), input_.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count < 0) {
      close_fd(in_);
      continue;
    }
    input_.erase(0, static_cast<std::size_t>(count));
    input_left_ -= static_cast<std::size_t>(count);
    control_.send_u32(FrameType::input_credit, id_, static_cast<std::uint32_t>(count));
  }
  if (input_left_ == 0) close_fd(in_);
}

std::int64_t Command::time_left_ms() const {
  return running() ? std::max<std::int64_t>(0, deadline_ms_ - now_ms()) : -1;
}

void Command::add_to(PollSet& set) const {
  if (!running()) return;
  if (in_ >= 0 && !input_.empty()) set.add(in_, POLLOUT);
  // A host that does not read makes the command wait, up to its deadline.
  if (control_.congested()) return;
  if (out_ >= 0) set.add(out_, POLLIN);
  if (error_ >= 0) set.add(error_, POLLIN);
}

void Command::advance(const PollSet& set) {
  if (running() && in_ >= 0 && set.ready(in_) != 0) feed();
  if (running() && out_ >= 0 && set.ready(out_) != 0) pump(out_, FrameType::output);
  if (running() && error_ >= 0 && set.ready(error_) != 0) pump(error_, FrameType::error_output);
  if (running() && now_ms() >= deadline_ms_) end(EndedHow::timed_out, 0);
}

void Command::pump(int& fd, FrameType type) {
  char bytes[sandbox::stream_frame_bytes_max];
  const auto count = ::read(fd, bytes, sizeof bytes);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return close_fd(fd);
  if (!forward(type, {bytes, static_cast<std::size_t>(count)})) end(EndedHow::too_much_output, 0);
}

bool Command::forward(FrameType type, std::string_view bytes) {
  const auto taken = bytes.substr(0, output_left_);
  output_left_ -= taken.size();
  if (!taken.empty()) control_.send(type, id_, taken);
  return taken.size() == bytes.size();
}

/// All writers are dead: what is in the pipe is all there will be.
bool Command::drain(int fd, FrameType type) {
  char bytes[sandbox::stream_frame_bytes_max];
  while (fd >= 0) {
    const auto count = ::read(fd, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    if (!forward(type, {bytes, static_cast<std::size_t>(count)})) return false;
  }
  return true;
}

void Command::end(EndedHow how, std::uint32_t code) {
  kill_all(identity_);
  pid_ = 0;
  const bool all_out = drain(out_, FrameType::output);
  const bool all_errors = drain(error_, FrameType::error_output);
  for (int* fd : {&in_, &out_, &error_})
    close_fd(*fd);
  if (!(all_out && all_errors) && (how == EndedHow::exited || how == EndedHow::signalled)) {
    how = EndedHow::too_much_output;
    code = 0;
  }
  std::string payload;
  sandbox::PayloadWriter(payload)
      .u8(static_cast<std::uint8_t>(how))
      .u32(code)
      .u64(reaped_cpu_us() - cpu_before_us_);
  control_.send(FrameType::ended, id_, payload);
}

void Command::reaped(pid_t pid, int status) {
  if (!running() || pid != pid_) return;
  if (WIFSIGNALED(status)) return end(EndedHow::signalled, static_cast<std::uint32_t>(WTERMSIG(status)));
  end(EndedHow::exited, static_cast<std::uint32_t>(WEXITSTATUS(status)));
}

}  // namespace ratchet::guest
