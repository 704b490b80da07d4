// What the guest says is believed only as far as it is due.

#include "sandbox/channel/channel.hpp"

#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

namespace ratchet::sandbox {
namespace {

std::string frame(FrameType type, std::uint32_t id, std::string_view payload = {}) {
  std::string out;
  append_frame(out, type, id, payload);
  return out;
}

std::string u32(std::uint32_t value) {
  std::string out;
  PayloadWriter(out).u32(value);
  return out;
}

std::string ended(EndedHow how = EndedHow::exited, std::uint32_t code = 0) {
  std::string out;
  PayloadWriter(out).u8(static_cast<std::uint8_t>(how)).u32(code).u64(1'500);
  return out;
}

/// A channel and all that came out of it, as words.
class Talk {
 public:
  Talk& hear(std::string_view bytes) {
    channel.feed(bytes);
    while (auto event = channel.next())
      std::visit(*this, *event);
    return *this;
  }

  /// Up to a sandbox that waits for commands.
  Talk& greet(bool proxy = false) {
    hear(frame(FrameType::ready, 0, u32(protocol_version)));
    channel.set_up({0, proxy});
    hear(frame(FrameType::set_up_done, 0));
    told.clear();
    forget_sent();
    return *this;
  }

  Talk& start(std::string input = {}, std::size_t output_bytes_max = 100) {
    SandboxCommand command;
    command.argv = {"/bin/true"};
    command.input = std::move(input);
    command.output_bytes_max = output_bytes_max;
    channel.start(std::move(command));
    return *this;
  }

  void forget_sent() { channel.sent(channel.outgoing().size()); }

  /// The types of the frames for the guest, and the sizes of their payloads.
  std::string sent() {
    FrameReader reader;
    reader.feed(channel.outgoing());
    std::string out;
    while (const auto next = reader.next())
      out += std::to_string(static_cast<int>(next->type)) + ":" + std::to_string(next->payload.size()) + " ";
    forget_sent();
    return out;
  }

  bool is_broken() const { return told.find("broken") != std::string::npos; }

  void operator()(const guest_event::Ready&) { told += "ready "; }

  void operator()(const guest_event::SetUp&) { told += "set_up "; }

  void operator()(const guest_event::Output& output) {
    told += (output.error ? "err:" : "out:") + std::string(output.bytes) + " ";
  }

  void operator()(const guest_event::Ended& end) {
    told += "ended:" + std::to_string(static_cast<int>(end.how)) + ":" + std::to_string(end.code) + " ";
  }

  void operator()(const guest_event::Opened& opened) {
    told += "opened:" + std::to_string(opened.connection) + " ";
  }

  void operator()(const guest_event::Data& data) {
    told += "data:" + std::to_string(data.connection) + ":" + std::to_string(data.bytes.size()) + " ";
  }

  void operator()(const guest_event::Credit& credit) {
    told += "credit:" + std::to_string(credit.bytes) + " ";
  }

  void operator()(const guest_event::Closed& closed) {
    told += (closed.broken ? "closed!:" : "closed:") + std::to_string(closed.connection) + " ";
  }

  void operator()(const guest_event::Broken& broken) { told += "broken(" + broken.why + ") "; }

  Channel channel;
  std::string told;
};

TEST(Channel, CarriesACommandFromItsStartToItsEnd) {
  Talk talk;
  talk.greet().start();
  EXPECT_EQ(talk.sent(), "2:52 ");
  talk.hear(frame(FrameType::output, 1, "hello") + frame(FrameType::error_output, 1, "oh") +
            frame(FrameType::ended, 1, ended(EndedHow::exited, 3)));
  EXPECT_EQ(talk.told, "out:hello err:oh ended:0:3 ");
  EXPECT_TRUE(talk.channel.idle());
}

TEST(Channel, HearsTheSameHoweverTheBytesAreCut) {
  const auto bytes = frame(FrameType::output, 1, "hello") +
                     frame(FrameType::output, 1, std::string(50, 'x')) + frame(FrameType::ended, 1, ended());
  Talk whole;
  whole.greet().start().hear(bytes);
  for (std::size_t piece = 1; piece < bytes.size(); ++piece) {
    Talk talk;
    talk.greet().start();
    for (std::size_t at = 0; at < bytes.size(); at += piece)
      talk.hear(std::string_view(bytes).substr(at, piece));
    EXPECT_EQ(talk.told, whole.told) << "pieces of " << piece;
  }
}

TEST(Channel, SendsInputAsFastAsItIsTakenAndNoFaster) {
  Talk talk;
  talk.greet().start(std::string(input_window_bytes + 1'000, 'i'));
  const std::string window = "3:65536 3:65536 3:65536 3:65536 ";
  EXPECT_EQ(talk.sent(), "2:52 " + window);
  talk.hear(frame(FrameType::input_credit, 1, u32(600)));
  EXPECT_EQ(talk.sent(), "3:600 ");
  talk.hear(frame(FrameType::input_credit, 1, u32(65'536)));
  EXPECT_EQ(talk.sent(), "3:400 ");
  EXPECT_EQ(talk.told, "");
}

TEST(Channel, RefusesWhatIsNotDue) {
  const std::vector<std::pair<const char*, std::string>> cases = {
      {"a second greeting", frame(FrameType::ready, 0, u32(protocol_version))},
      {"a second set-up", frame(FrameType::set_up_done, 0)},
      {"an unknown type", frame(FrameType{99}, 1)},
      {"a frame of the host", frame(FrameType::start, 1)},
      {"an end while nothing runs", frame(FrameType::ended, 1, ended())},
      {"output while nothing runs", frame(FrameType::output, 1, "x")},
      {"credit while nothing runs", frame(FrameType::input_credit, 1, u32(1))},
      {"a connection without a proxy", frame(FrameType::open, 1)},
      {"data of no connection", frame(FrameType::data, 1, "x")},
      {"the end of no connection", frame(FrameType::close, 1, std::string(1, '\0'))},
      {"credit for no connection", frame(FrameType::credit, 1, u32(1))},
      {"a length of four gigabytes", std::string("\xff\xff\xff\xff\x12\x01\0\0\0", 9)},
      {"a length just above the bound", u32(frame_payload_bytes_max + 1) + std::string(5, '\0')}};
  for (const auto& [name, bytes] : cases) {
    Talk talk;
    talk.greet().hear(bytes);
    EXPECT_TRUE(talk.is_broken()) << name;
  }
}

TEST(Channel, RefusesWhatDoesNotFitTheCommand) {
  const std::vector<std::pair<const char*, std::string>> cases = {
      {"another command's output", frame(FrameType::output, 2, "x")},
      {"more than its bound", frame(FrameType::output, 1, std::string(101, 'x'))},
      {"empty output", frame(FrameType::output, 1)},
      {"an end without a number", frame(FrameType::ended, 1)},
      {"an end with bytes behind", frame(FrameType::ended, 1, ended() + "x")},
      {"an end of an unknown kind", frame(FrameType::ended, 1, ended(EndedHow{6}))},
      {"an end by a signal beyond all", frame(FrameType::ended, 1, ended(EndedHow::signalled, 1u << 31))},
      {"killed by nobody", frame(FrameType::ended, 1, ended(EndedHow::killed))},
      {"too much output that did not come", frame(FrameType::ended, 1, ended(EndedHow::too_much_output))},
      {"credit for input that was not sent", frame(FrameType::input_credit, 1, u32(6))},
      {"two ends", frame(FrameType::ended, 1, ended()) + frame(FrameType::ended, 1, ended())},
      {"output after the end", frame(FrameType::ended, 1, ended()) + frame(FrameType::output, 1, "x")}};
  for (const auto& [name, bytes] : cases) {
    Talk talk;
    talk.greet().start("input").hear(bytes);
    EXPECT_TRUE(talk.is_broken()) << name;
  }
}

TEST(Channel, RefusesAGuestOfAnotherVersion) {
  Talk talk;
  talk.hear(frame(FrameType::ready, 0, u32(protocol_version + 1)));
  EXPECT_TRUE(talk.is_broken());
}

TEST(Channel, HearsNothingAfterAnError) {
  Talk talk;
  talk.greet().start().hear(frame(FrameType{77}, 0) + frame(FrameType::output, 1, "x"));
  talk.hear(frame(FrameType::ended, 1, ended()));
  EXPECT_EQ(talk.told, "broken(the guest sent a frame of type 77) ");
}

TEST(Channel, CarriesConnectionsWithinTheirCredit) {
  Talk talk;
  talk.greet(true).hear(frame(FrameType::open, 7) + frame(FrameType::data, 7, std::string(1'000, 'x')));
  talk.channel.send(7, "answer");
  talk.channel.grant(7, 1'000);
  talk.hear(frame(FrameType::credit, 7, u32(6)) + frame(FrameType::close, 7, std::string(1, '\0')));
  talk.channel.close(7, false);
  EXPECT_EQ(talk.told, "opened:7 data:7:1000 credit:6 closed:7 ");
  EXPECT_EQ(talk.sent(), "32:6 33:4 34:1 ");
  EXPECT_EQ(talk.channel.connections(), 0u);
}

TEST(Channel, RefusesConnectionsThatDoNotKeepToTheirCredit) {
  const auto open = frame(FrameType::open, 7);
  const std::string some(64u << 10, 'x');
  const auto data = frame(FrameType::data, 7, some);
  const std::vector<std::pair<const char*, std::string>> cases = {
      {"more than the window", open + data + data + data + data + frame(FrameType::data, 7, "x")},
      {"no data", open + frame(FrameType::data, 7)},
      {"the number again", open + frame(FrameType::open, 7)},
      {"a smaller number", open + frame(FrameType::open, 6)},
      {"credit that is not owed", open + frame(FrameType::credit, 7, u32(1))},
      {"data after its end", open + frame(FrameType::close, 7, std::string(1, '\0')) + data},
      {"two ends", open + frame(FrameType::close, 7, "\1") + frame(FrameType::close, 7, "\1")},
      {"an end of an unknown kind", open + frame(FrameType::close, 7, "\2")}};
  for (const auto& [name, bytes] : cases) {
    Talk talk;
    talk.greet(true).hear(bytes);
    EXPECT_TRUE(talk.is_broken()) << name;
  }
}

TEST(Channel, TakesNoMoreConnectionsThanItsBound) {
  Talk talk;
  talk.greet(true);
  for (std::uint32_t id = 1; id <= limits::egress_connections_max; ++id)
    talk.hear(frame(FrameType::open, id));
  EXPECT_FALSE(talk.is_broken());
  talk.hear(frame(FrameType::open, limits::egress_connections_max + 1));
  EXPECT_TRUE(talk.is_broken());
}

TEST(Channel, LetsDataCrossWithItsOwnCloseAndTellsNoMoreOfIt) {
  Talk talk;
  talk.greet(true).hear(frame(FrameType::open, 7));
  talk.channel.close(7, true);
  talk.hear(frame(FrameType::data, 7, "late") + frame(FrameType::close, 7, "\1"));
  EXPECT_EQ(talk.told, "opened:7 ");
  EXPECT_EQ(talk.channel.connections(), 0u);
}

TEST(Channel, IsBrokenByAGuestThatMakesItAnswerAndDoesNotRead) {
  Talk talk;
  talk.greet(true);
  // One connection after the other, each within its bounds.
  for (std::uint32_t id = 1; id < 1'000 && !talk.is_broken(); ++id) {
    talk.hear(frame(FrameType::open, id));
    talk.channel.send(id, std::string(limits::egress_window_bytes, 'x'));
    talk.hear(frame(FrameType::close, id, "\1"));
  }
  EXPECT_TRUE(talk.is_broken());
  EXPECT_LT(talk.channel.outgoing().size(), 32u << 20);
}

}  // namespace
}  // namespace ratchet::sandbox
