// The server without any domain: what it does with connections, good ones and bad ones.

#include "http/server/server.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "tests/http/raw_client.hpp"

namespace ratchet {

namespace {

using testing::fetch;
using testing::RawClient;

/// A stream that a test feeds.
class FedStream final : public BodyStream {
 public:
  void start(std::function<void()> wake) override {
    const std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
    changed_.notify_all();
  }

  bool take(std::size_t, Pieces& out) override {
    const std::lock_guard lock(mutex_);
    if (!text_.empty()) out.add(std::exchange(text_, {}));
    return !ended_;
  }

  std::string_view heartbeat() const override { return ":\n"; }

  void drain() override { feed("bye\n", true); }

  void stop() override {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

  void feed(std::string text, bool end = false) {
    std::function<void()> wake;
    {
      const std::lock_guard lock(mutex_);
      text_ += text;
      ended_ = ended_ || end;
      wake = wake_;
    }
    if (wake) wake();
  }

  void wait_for_stop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> wake_;
  std::string text_;
  bool ended_ = false, stopped_ = false;
};

class ServerTest : public ::testing::Test {
 protected:
  void start(Handler handler) {
    options_.on_error = [](ErrorCode code, std::string text) {
      return Response{http_status(code), {}, std::string(name(code)) + ": " + text};
    };
    server_ = std::make_unique<Server>(options_, std::move(handler));
    const auto port = server_->start();
    ASSERT_TRUE(port) << port.error().text;
    port_ = *port;
  }

  void start_echo() {
    start([](Request request, Respond respond) {
      respond({200, {{"X-Method", request.method}}, request.target + "|" + request.body});
    });
  }

  ServerOptions options_;
  std::unique_ptr<Server> server_;
  std::uint16_t port_ = 0;
};

TEST_F(ServerTest, AnswersAndKeepsTheConnection) {
  start_echo();
  RawClient client(port_);
  for (int i = 0; i < 3; ++i) {
    client.send_request("POST", "/a?b=" + std::to_string(i), "body");
    const auto answer = client.read_answer();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "/a?b=" + std::to_string(i) + "|body");
  }
  EXPECT_EQ(server_->counts().connections_total, 1u);
}

TEST_F(ServerTest, AnswersPipelinedRequestsInOrderThoughTheHandlerIsLate) {
  std::vector<std::pair<std::string, Respond>> waiting;
  std::mutex mutex;
  std::condition_variable arrived;
  start([&](Request request, Respond respond) {
    const std::lock_guard lock(mutex);
    waiting.emplace_back(request.target, std::move(respond));
    arrived.notify_all();
  });
  RawClient client(port_);
  client.send(
      "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nPOST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhiGET /3 "
      "HTTP/1.1\r\nHost: x\r\n\r\n");
  for (const char* target : {"/1", "/2", "/3"}) {
    std::unique_lock lock(mutex);
    arrived.wait(lock, [&] { return !waiting.empty(); });
    EXPECT_EQ(waiting.size(), 1u) << "one request at a time";
    auto [asked, respond] = std::move(waiting.front());
    waiting.clear();
    lock.unlock();
    EXPECT_EQ(asked, target);
    std::thread([&respond = respond, &asked = asked] { respond({200, {}, asked}); }).join();
    EXPECT_EQ(client.read_answer().body, target);
  }
}

TEST_F(ServerTest, HeadGetsTheHeadersOnly) {
  start_echo();
  RawClient client(port_);
  client.send_request("HEAD", "/x");
  const auto head = client.read_answer(true);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("content-length"), "3");
  client.send_request("GET", "/y");
  EXPECT_EQ(client.read_answer().body, "/y|");
}

TEST_F(ServerTest, RefusesABodyThatIsTooLargeBeforeItIsSent) {
  options_.request_bytes_max = 100;
  start_echo();
  RawClient client(port_);
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n");
  const auto answer = client.read_answer();
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(answer.header("connection"), "close");
  EXPECT_EQ(client.read_all(), "");
}

TEST_F(ServerTest, AClientThatSendsATooLargeBodyAnywayStillReadsTheAnswer) {
  options_.request_bytes_max = 100;
  start_echo();
  const auto answer = fetch(port_, "POST", "/", std::string(3'000'000, 'x'));
  EXPECT_EQ(answer.status, 413);
  EXPECT_TRUE(answer.whole);
}

TEST_F(ServerTest, RefusesAChunkedBodyOnceItGrowsTooLarge) {
  options_.request_bytes_max = 100;
  start_echo();
  RawClient client(port_);
  client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 3; ++i)
    client.send("32\r\n" + std::string(50, 'x') + "\r\n");
  EXPECT_EQ(client.read_answer().status, 413);
}

TEST_F(ServerTest, TakesAChunkedBody) {
  start_echo();
  RawClient client(port_);
  client.send(
      "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  EXPECT_EQ(client.read_answer().body, "/c|abcde");
}

TEST_F(ServerTest, SaysGoOnToAClientThatAsksFirst) {
  start_echo();
  RawClient client(port_);
  client.send("POST /e HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 100);
  client.send("ok");
  EXPECT_EQ(client.read_answer().body, "/e|ok");
}

TEST_F(ServerTest, RefusesHeadersThatAreTooLarge) {
  start_echo();
  const auto answer = fetch(port_, "GET", "/", {}, {{"X-Long", std::string(20'000, 'x')}});
  EXPECT_EQ(answer.status, 431);
}

TEST_F(ServerTest, RefusesWhatIsNoHttp) {
  start_echo();
  for (const char* bytes :
       {"hello\r\n\r\n",
        "GET / HTTP/9.9\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: "
        "chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nBad Header: y\r\n\r\n"}) {
    RawClient client(port_);
    client.send(bytes);
    EXPECT_EQ(client.read_answer().status, 400) << bytes;
    EXPECT_EQ(client.read_all(), "") << bytes;
  }
}

TEST_F(ServerTest, GivesUpOnASlowClientWithoutHarmToOthers) {
  options_.header_timeout_ms = 50;
  options_.body_timeout_ms = 50;
  start_echo();
  RawClient half_head(port_), half_body(port_);
  half_head.send("GET / HT");
  half_body.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(half_head.read_answer().status, 408);
  EXPECT_EQ(half_body.read_answer().status, 408);
  EXPECT_EQ(fetch(port_, "GET", "/fine").status, 200);
}

TEST_F(ServerTest, ClosesAnIdleConnection) {
  options_.keep_alive_timeout_ms = 20;
  start_echo();
  RawClient client(port_);
  client.send_request("GET", "/");
  EXPECT_EQ(client.read_answer().status, 200);
  EXPECT_EQ(client.read_all(), "");
}

TEST_F(ServerTest, AnswersForAHandlerThatThrowsOrForgets) {
  start([](Request request, Respond) {
    if (request.target == "/throw") throw std::runtime_error("oh");
  });
  EXPECT_EQ(fetch(port_, "GET", "/throw").status, 500);
  EXPECT_EQ(fetch(port_, "GET", "/forget").status, 500);
}

TEST_F(ServerTest, ManyConnectionsAtOnce) {
  start_echo();
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 500; ++i) {
    clients.push_back(std::make_unique<RawClient>(port_));
    clients.back()->send_request("GET", "/" + std::to_string(i));
  }
  for (int i = 0; i < 500; ++i)
    EXPECT_EQ(clients[static_cast<std::size_t>(i)]->read_answer().body, "/" + std::to_string(i) + "|");
}

TEST_F(ServerTest, MoreConnectionsThanAllowedWaitUntilOthersEnd) {
  options_.connections_max = 2;
  start_echo();
  auto a = std::make_unique<RawClient>(port_), b = std::make_unique<RawClient>(port_);
  for (auto* client : {a.get(), b.get()}) {
    client->send_request("GET", "/");
    EXPECT_EQ(client->read_answer().status, 200);
  }
  RawClient c(port_);
  c.send_request("GET", "/late");
  a.reset();
  EXPECT_EQ(c.read_answer().body, "/late|");
}

TEST_F(ServerTest, ConnectionsWithoutADescriptorWaitUntilCallsEnd) {
  Descriptors files(16);  // of which 12 are shared out
  files.call_sockets = 11;
  options_.descriptors = &files;
  start_echo();
  RawClient a(port_);
  a.send_request("GET", "/");
  EXPECT_EQ(a.read_answer().status, 200);
  EXPECT_EQ(files.clients, 1u);
  RawClient b(port_);
  b.send_request("GET", "/late");
  a.send_request("GET", "/again");  // by its answer the server has looked at `b`
  EXPECT_EQ(a.read_answer().body, "/again|");
  EXPECT_EQ(files.clients, 1u);
  files.call_sockets = 5;
  EXPECT_EQ(b.read_answer().body, "/late|");
  server_.reset();
}

TEST_F(ServerTest, StreamsChunksAndEndsProperly) {
  const auto stream = std::make_shared<FedStream>();
  start([&](Request, Respond respond) { respond({200, {{"Content-Type", "text/plain"}}, "", stream}); });
  RawClient client(port_);
  client.send_request("GET", "/");
  EXPECT_EQ(client.read_head().status, 200);
  stream->feed("one\n");
  EXPECT_EQ(client.read_line(), "one");
  stream->feed("two\n", true);
  EXPECT_EQ(client.read_line(), "two");
  EXPECT_EQ(client.read_line(), std::nullopt);
  EXPECT_FALSE(client.broken());
  stream->wait_for_stop();
}

TEST_F(ServerTest, AQuietStreamShowsThatItLives) {
  options_.heartbeat_ms = 5;
  const auto stream = std::make_shared<FedStream>();
  start([&](Request, Respond respond) { respond({200, {}, "", stream}); });
  RawClient client(port_);
  client.send_request("GET", "/");
  client.read_head();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(client.read_line(), ":");
}

TEST_F(ServerTest, AStreamWhoseReaderLeftIsStopped) {
  const auto stream = std::make_shared<FedStream>();
  start([&](Request, Respond respond) { respond({200, {}, "", stream}); });
  {
    RawClient client(port_);
    client.send_request("GET", "/");
    client.read_head();
  }
  stream->wait_for_stop();
}

TEST_F(ServerTest, AStreamThatNobodyReadsIsGivenUp) {
  options_.write_timeout_ms = 50;
  const auto stream = std::make_shared<FedStream>();
  start([&](Request, Respond respond) { respond({200, {}, "", stream}); });
  RawClient client(port_);
  client.send_request("GET", "/");
  client.read_head();
  stream->feed(std::string(16 << 20, 'x'));
  stream->wait_for_stop();
}

TEST_F(ServerTest, ADrainEndsStreamsAndAnswersEachConnectionOnceMore) {
  const auto stream = std::make_shared<FedStream>();
  std::mutex mutex;
  std::condition_variable arrived;
  Respond late;
  start([&](Request request, Respond respond) {
    if (request.target == "/stream") return respond({200, {}, "", stream});
    if (request.target != "/late") return respond({200, {}, ""});
    const std::lock_guard lock(mutex);
    late = std::move(respond);
    arrived.notify_all();
  });
  RawClient idle(port_), streaming(port_), waiting(port_);
  idle.send_request("GET", "/");
  EXPECT_EQ(idle.read_answer().status, 200);
  streaming.send_request("GET", "/stream");
  streaming.read_head();
  waiting.send_request("GET", "/late");
  {
    std::unique_lock lock(mutex);
    arrived.wait(lock, [&] { return late != nullptr; });
  }
  server_->drain();
  EXPECT_EQ(streaming.read_line(), "bye");
  EXPECT_EQ(streaming.read_line(), std::nullopt);
  EXPECT_FALSE(streaming.broken());
  RawClient fresh(port_), silent(port_);
  for (RawClient* client : {&idle, &fresh}) {
    client->send_request("GET", "/");
    const auto answer = client->read_answer();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.header("connection"), "close");
    EXPECT_EQ(client->read_all(), "");
  }
  late({200, {}, "at last"});
  late = nullptr;
  const auto answer = waiting.read_answer();
  EXPECT_EQ(answer.body, "at last");
  EXPECT_EQ(answer.header("connection"), "close");
  server_->stop();
  EXPECT_EQ(silent.read_all(), "");
  EXPECT_THROW(RawClient{port_}, std::runtime_error) << "it no longer listens";
}

TEST_F(ServerTest, AnAnswerAfterTheServerHasStoppedIsDropped) {
  std::mutex mutex;
  std::condition_variable arrived;
  Respond late;
  start([&](Request, Respond respond) {
    const std::lock_guard lock(mutex);
    late = std::move(respond);
    arrived.notify_all();
  });
  RawClient client(port_);
  client.send_request("GET", "/");
  {
    std::unique_lock lock(mutex);
    arrived.wait(lock, [&] { return late != nullptr; });
  }
  server_->stop();
  server_ = nullptr;
  late({200, {}, "too late"});
}

TEST_F(ServerTest, ASecondServerOnThePortIsRefused) {
  start_echo();
  ServerOptions options = options_;
  options.port = port_;
  Server second(options, [](Request, Respond) {});
  const auto port = second.start();
  ASSERT_FALSE(port);
  EXPECT_NE(port.error().text.find(std::to_string(port_)), std::string::npos) << port.error().text;
}

}  // namespace

}  // namespace ratchet
