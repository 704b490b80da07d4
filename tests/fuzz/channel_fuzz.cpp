// Bytes of a guest, cut in any way, between the commands of a host: what is told does not depend on the cuts,
// keeps the bounds that were set, and nothing is told after an error.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "runtime/result.hpp"
#include "sandbox/channel/channel.hpp"

namespace ratchet::sandbox {
namespace {

constexpr std::size_t output_bytes_max = 300;

/// A host that answers each event at once, and writes down all that it was told and has sent.
class Host {
 public:
  explicit Host(bool proxy) : proxy_(proxy) {}

  void hear(std::string_view bytes) {
    channel_.feed(bytes);
    while (auto event = channel_.next()) {
      RATCHET_ENSURE(!broken_, "something was told after an error");
      std::visit(*this, *event);
      told_ += channel_.outgoing();
      channel_.sent(channel_.outgoing().size());
    }
  }

  void operator()(const guest_event::Ready&) { channel_.set_up({0, proxy_}); }

  void operator()(const guest_event::SetUp&) { start(); }

  void operator()(const guest_event::Output& output) {
    RATCHET_ENSURE(running_, "output of nothing");
    output_bytes_ += output.bytes.size();
    RATCHET_ENSURE(output_bytes_ <= output_bytes_max, "more output than was allowed");
    told_ += output.bytes;
    if (output.bytes.front() == 'k') channel_.kill();
  }

  void operator()(const guest_event::Ended&) {
    RATCHET_ENSURE(running_ && channel_.idle(), "an end of nothing");
    told_ += "ended";
    running_ = false;
    if (++commands_ < 5) start();
  }

  void operator()(const guest_event::Opened& opened) {
    RATCHET_ENSURE(proxy_ && unread_.emplace(opened.connection, 0).second, "a number was used again");
    RATCHET_ENSURE(channel_.connections() <= limits::egress_connections_max, "too many connections");
    channel_.send(opened.connection, "hello");
    if (opened.connection % 3 == 0) channel_.close(opened.connection, opened.connection % 2 == 0);
  }

  void operator()(const guest_event::Data& data) {
    auto& unread = unread_.at(data.connection);
    unread += data.bytes.size();
    RATCHET_ENSURE(unread <= limits::egress_window_bytes, "more data than it had credit for");
    told_ += data.bytes;
    if (data.bytes.front() == 'g')
      channel_.grant(data.connection, static_cast<std::uint32_t>(std::exchange(unread, 0)));
  }

  void operator()(const guest_event::Credit& credit) { told_ += "credit" + std::to_string(credit.bytes); }

  void operator()(const guest_event::Closed& closed) {
    RATCHET_ENSURE(unread_.count(closed.connection) == 1, "the end of a connection that was not told");
    if (!closed.broken) channel_.close(closed.connection, false);
  }

  void operator()(const guest_event::Broken& broken) {
    broken_ = true;
    told_ += broken.why;
    RATCHET_ENSURE(channel_.connections() == 0, "connections are left");
  }

  const std::string& told() const { return told_; }

 private:
  void start() {
    SandboxCommand command;
    command.argv = {"/bin/true"};
    command.input = "input";
    command.output_bytes_max = output_bytes_max;
    channel_.start(std::move(command));
    output_bytes_ = 0;
    running_ = true;
  }

  const bool proxy_;
  Channel channel_;
  std::string told_;
  std::size_t output_bytes_ = 0;
  int commands_ = 0;
  bool running_ = false, broken_ = false;
  std::map<ConnectionId, std::size_t> unread_;
};

}  // namespace
}  // namespace ratchet::sandbox

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ratchet::sandbox;
  if (size < 2) return 0;
  const bool proxy = (data[0] & 1) != 0;
  const std::size_t piece_bytes = 1 + data[1] % 32;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  Host whole(proxy), pieces(proxy);
  whole.hear(bytes);
  for (auto rest = bytes; !rest.empty(); rest.remove_prefix(std::min(piece_bytes, rest.size())))
    pieces.hear(rest.substr(0, piece_bytes));
  RATCHET_ENSURE(whole.told() == pieces.told(), "the cuts change what is told");
  return 0;
}
