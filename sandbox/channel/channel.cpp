#include "sandbox/channel/channel.hpp"

#include <algorithm>
#include <utility>

#include "runtime/limits.hpp"
#include "runtime/result.hpp"

namespace ratchet::sandbox {

namespace {

std::string command_payload(const SandboxCommand& command) {
  std::string out;
  PayloadWriter writer(out);
  writer.u64(static_cast<std::uint64_t>(std::max<std::int64_t>(0, command.timeout_ms)))
      .u64(command.output_bytes_max)
      .u32(static_cast<std::uint32_t>(command.input.size()))
      .u8(command.one_stream ? 1 : 0)
      .text(command.directory)
      .u32(static_cast<std::uint32_t>(command.argv.size()));
  for (const auto& word : command.argv)
    writer.text(word);
  return out;
}

}  // namespace

std::optional<GuestEvent> Channel::next() {
  while (state_ != State::broken) {
    const auto frame = frames_.next();
    if (frames_.too_long())
      return broken("a frame longer than " + std::to_string(frame_payload_bytes_max) + " bytes");
    if (!frame) return std::nullopt;
    if (outgoing().size() > limits::sandbox_outgoing_bytes_max)
      return broken("frames, but does not read what it is sent");
    if (auto event = handle(*frame)) return event;
  }
  return std::nullopt;
}

Channel::Next Channel::handle(const Frame& frame) {
  switch (frame.type) {
    case FrameType::ready:
      return handle_ready(frame);
    case FrameType::set_up_done:
      if (state_ != State::setting_up || frame.id != 0 || !frame.payload.empty())
        return broken("a set-up that is not due");
      state_ = State::idle;
      return guest_event::SetUp{};
    case FrameType::output:
    case FrameType::error_output:
      return handle_output(frame);
    case FrameType::input_credit:
      return handle_input_credit(frame);
    case FrameType::ended:
      return handle_ended(frame);
    case FrameType::open:
      return handle_open(frame);
    case FrameType::data:
      return handle_data(frame);
    case FrameType::credit:
      return handle_credit(frame);
    case FrameType::close:
      return handle_close(frame);
    default:
      return broken("a frame of type " + std::to_string(static_cast<int>(frame.type)));
  }
}

Channel::Next Channel::broken(std::string why) {
  state_ = State::broken;
  connections_.clear();
  return guest_event::Broken{"the guest sent " + std::move(why)};
}

// --- the command
// ----------------------------------------------------------------------------------------------

Channel::Next Channel::handle_ready(const Frame& frame) {
  PayloadReader reader(frame.payload);
  const auto version = reader.u32();
  if (state_ != State::starting || frame.id != 0 || !reader.complete() || version != protocol_version)
    return broken("a greeting that is not due, or of another version");
  state_ = State::ready;
  return guest_event::Ready{};
}

void Channel::set_up(const SetUp& what) {
  RATCHET_ENSURE(state_ == State::ready || state_ == State::broken, "a sandbox is set up once");
  if (state_ == State::broken) return;
  std::string payload;
  PayloadWriter(payload).u32(what.pids).u8(what.proxy ? 1 : 0);
  append_frame(outgoing_, FrameType::set_up, 0, payload);
  proxy_ = what.proxy;
  state_ = State::setting_up;
}

bool Channel::fits(const SandboxCommand& command) {
  std::size_t bytes = 64 + command.directory.size();
  for (const auto& word : command.argv)
    bytes += 4 + word.size();
  return bytes <= frame_payload_bytes_max && !command.argv.empty() &&
         command.argv.size() <= limits::sandbox_argv_max &&
         command.input.size() <= limits::sandbox_input_bytes_max;
}

void Channel::start(SandboxCommand command) {
  RATCHET_ENSURE(idle() && fits(command), "a command is started while none is under way, and fits");
  state_ = State::running;
  kill_sent_ = false;
  output_left_ = command.output_bytes_max;
  append_frame(outgoing_, FrameType::start, ++command_, command_payload(command));
  input_ = std::move(command.input);
  input_sent_ = input_taken_ = 0;
  send_input();
}

void Channel::kill() {
  if (state_ != State::running) return;
  kill_sent_ = true;
  append_frame(outgoing_, FrameType::kill, command_, {});
}

void Channel::send_input() {
  while (input_sent_ < input_.size() && input_sent_ - input_taken_ < input_window_bytes) {
    const auto bytes = std::min({input_.size() - input_sent_,
                                 input_window_bytes - (input_sent_ - input_taken_),
                                 stream_frame_bytes_max});
    append_frame(outgoing_, FrameType::input, command_, std::string_view(input_).substr(input_sent_, bytes));
    input_sent_ += bytes;
  }
}

bool Channel::is_of_command(const Frame& frame) const {
  return state_ == State::running && frame.id == command_;
}

Channel::Next Channel::handle_output(const Frame& frame) {
  if (!is_of_command(frame)) return broken("output of a command that is not running");
  if (frame.payload.empty() || frame.payload.size() > output_left_)
    return broken("more output than the command may make");
  output_left_ -= frame.payload.size();
  return guest_event::Output{frame.type == FrameType::error_output, frame.payload};
}

Channel::Next Channel::handle_input_credit(const Frame& frame) {
  PayloadReader reader(frame.payload);
  const auto bytes = reader.u32();
  if (!is_of_command(frame) || !reader.complete() || bytes == 0 || bytes > input_sent_ - input_taken_)
    return broken("credit for input that it has not got");
  input_taken_ += bytes;
  send_input();
  return std::nullopt;
}

Channel::Next Channel::handle_ended(const Frame& frame) {
  PayloadReader reader(frame.payload);
  const auto how = reader.u8();
  const auto code = reader.u32();
  const auto cpu_us = reader.u64();
  if (!is_of_command(frame) || !reader.complete()) return broken("an end that is not due");
  if (how > static_cast<std::uint8_t>(EndedHow::not_started) || code > 4'096)
    return broken("an end of an unknown kind");
  if ((EndedHow{how} == EndedHow::killed && !kill_sent_) ||
      (EndedHow{how} == EndedHow::too_much_output && output_left_ > 0))
    return broken("an end that has no cause");
  state_ = State::idle;
  input_.clear();
  return guest_event::Ended{EndedHow{how}, static_cast<int>(code), cpu_us};
}

// --- connections
// ----------------------------------------------------------------------------------------------

Channel::Connection* Channel::find(ConnectionId id) {
  const auto found = connections_.find(id);
  return found == connections_.end() ? nullptr : &found->second;
}

void Channel::forget_if_over(ConnectionId id) {
  const auto* connection = find(id);
  if (connection != nullptr && connection->guest != Side::open && connection->host != Side::open)
    connections_.erase(id);
}

Channel::Next Channel::handle_open(const Frame& frame) {
  if (!proxy_ || (state_ != State::idle && state_ != State::running))
    return broken("a connection where no proxy was granted");
  if (frame.id <= last_connection_ || !frame.payload.empty())
    return broken("a connection with a number that was used before");
  if (connections_.size() >= limits::egress_connections_max) return broken("too many connections");
  last_connection_ = frame.id;
  connections_[frame.id];
  return guest_event::Opened{frame.id};
}

Channel::Next Channel::handle_data(const Frame& frame) {
  auto* connection = find(frame.id);
  if (connection == nullptr || connection->guest != Side::open)
    return broken("data of a connection that is not open");
  if (frame.payload.empty() || frame.payload.size() > connection->guest_may_send)
    return broken("more data than it has credit for");
  connection->guest_may_send -= frame.payload.size();
  if (connection->host == Side::broken) return std::nullopt;  // it crossed with our close
  return guest_event::Data{frame.id, frame.payload};
}

Channel::Next Channel::handle_credit(const Frame& frame) {
  PayloadReader reader(frame.payload);
  const auto bytes = reader.u32();
  auto* connection = find(frame.id);
  // It may cross with our close, the last one: then the connection is not known any more.
  const bool known_before = connection == nullptr && frame.id != 0 && frame.id <= last_connection_;
  if (!reader.complete() || bytes == 0 || (connection == nullptr && !known_before) ||
      (connection != nullptr && connection->guest == Side::broken))
    return broken("credit for a connection that is not open");
  if (connection == nullptr) return std::nullopt;
  if (bytes > limits::egress_window_bytes - connection->host_may_send)
    return broken("credit for data that it has not got");
  connection->host_may_send += bytes;
  if (connection->host != Side::open) return std::nullopt;
  return guest_event::Credit{frame.id, bytes};
}

Channel::Next Channel::handle_close(const Frame& frame) {
  PayloadReader reader(frame.payload);
  const auto how = reader.u8();
  auto* connection = find(frame.id);
  if (connection == nullptr || connection->guest != Side::open || !reader.complete() || how > 1)
    return broken("the end of a connection that is not open");
  const bool is_broken = how == 1;
  const bool told = connection->host != Side::broken;
  connection->guest = is_broken ? Side::broken : Side::finished;
  if (is_broken) tell_close(frame.id, true);
  forget_if_over(frame.id);
  if (!told) return std::nullopt;
  return guest_event::Closed{frame.id, is_broken};
}

void Channel::send(ConnectionId id, std::string_view bytes) {
  auto* connection = find(id);
  if (connection == nullptr || connection->host != Side::open) return;
  RATCHET_ENSURE(bytes.size() <= connection->host_may_send, "a connection keeps to its credit");
  connection->host_may_send -= bytes.size();
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), stream_frame_bytes_max)))
    append_frame(outgoing_, FrameType::data, id, bytes.substr(0, stream_frame_bytes_max));
}

void Channel::grant(ConnectionId id, std::uint32_t bytes) {
  auto* connection = find(id);
  if (connection == nullptr || connection->guest != Side::open || connection->host == Side::broken) return;
  RATCHET_ENSURE(bytes <= limits::egress_window_bytes - connection->guest_may_send,
                 "credit is for data that came");
  if (bytes == 0) return;
  connection->guest_may_send += bytes;
  std::string payload;
  PayloadWriter(payload).u32(bytes);
  append_frame(outgoing_, FrameType::credit, id, payload);
}

void Channel::close(ConnectionId id, bool broken) {
  tell_close(id, broken);
  forget_if_over(id);
}

void Channel::tell_close(ConnectionId id, bool broken) {
  auto* connection = find(id);
  if (connection == nullptr || connection->host != Side::open) return;
  connection->host = broken ? Side::broken : Side::finished;
  const char how = broken ? 1 : 0;
  append_frame(outgoing_, FrameType::close, id, {&how, 1});
}

void Channel::sent(std::size_t bytes) {
  sent_ += bytes;
  if (sent_ < outgoing_.size() && sent_ < limits::sandbox_frame_bytes_max) return;
  outgoing_.erase(0, sent_);
  sent_ = 0;
}

}  // namespace ratchet::sandbox
