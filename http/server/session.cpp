#include "http/server/session.hpp"

#include <chrono>
#include <exception>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <fmt/format.h>

namespace ratchet {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Code = boost::system::error_code;
using Tcp = asio::ip::tcp;

constexpr std::size_t kept_buffer_bytes_max = 64u << 10;
constexpr std::size_t slowest_bytes_per_ms = 64;  // a slower reader of a large answer is given up

/// The error that a client is told of, where its request could not be read.
std::pair<ErrorCode, std::string> read_error(Code error, std::size_t body_bytes_max) {
  if (error == http::error::body_limit)
    return {ErrorCode::too_large, fmt::format("a body may have {} bytes", body_bytes_max)};
  if (error == http::error::header_limit)
    return {ErrorCode::headers_too_large,
            fmt::format("the headers may have {} bytes", limits::request_header_bytes_max)};
  return {ErrorCode::invalid_request, "this is no HTTP/1.1 request: " + error.message()};
}

bool is_http_error(Code error) {
  return error.category() == make_error_code(http::error::body_limit).category() &&
         error != http::error::end_of_stream && error != http::error::partial_message;
}

class BeastSession final : public Session, public std::enable_shared_from_this<BeastSession> {
 public:
  BeastSession(asio::io_context& context, int fd, Tcp protocol, std::string remote, Sessions& sessions)
      : sessions_(sessions), socket_(context, protocol, fd), deadline_(context), remote_(std::move(remote)) {
    ++sessions_.open_count;
    ++sessions_.total_count;
  }

  ~BeastSession() override { --sessions_.open_count; }

  void await_request() {
    if (sessions_.stopping) return close();
    if (buffer_.capacity() > kept_buffer_bytes_max && buffer_.size() == 0) buffer_ = {};
    if (buffer_.size() > 0) return read_head();
    state_ = State::idle;
    arm(sessions_.options.keep_alive_timeout_ms);
    socket_.async_read_some(buffer_.prepare(4096), [self = shared_from_this()](Code error, std::size_t n) {
      if (error) return self->close();
      self->buffer_.commit(n);
      self->read_head();
    });
  }

  void drain() override {
    if (state_ == State::idle && sessions_.stopping) return close();
    if (body_ && state_ == State::stream) {
      body_->drain();
      if (!writing_) pump();
    } else if (body_) {
      body_->drain();
    }
  }

  void close() override {
    if (state_ == State::closed) return;
    const auto self = shared_from_this();
    state_ = State::closed;
    ++timer_round_;
    deadline_.cancel();
    end_stream();
    Code ignored;  // it is closed either way
    socket_.close(ignored);
    sessions_.open.erase(self);
    sessions_.on_closed();
  }

 private:
  enum class State { idle, head, body, handler, answer, stream, linger, closed };

  // --- deadlines: one timer, meaning what the state says

  void arm(std::int64_t ms) {
    deadline_.expires_after(std::chrono::milliseconds(ms));
    deadline_.async_wait([self = weak_from_this(), round = ++timer_round_](Code error) {
      const auto session = self.lock();
      // A wait that had already ended when it was set anew still comes here: its round is over.
      if (!error && session && round == session->timer_round_) session->on_deadline();
    });
  }

  void disarm() {
    ++timer_round_;
    deadline_.cancel();
  }

  void on_deadline() {
    switch (state_) {
      case State::head:
      case State::body:
        timed_out_ = true;
        socket_.cancel();
        return;
      case State::stream:
        if (writing_) return close();
        return write_heartbeat();
      default:
        return close();
    }
  }

  // --- reading

  void read_head() {
    state_ = State::head;
    parser_.emplace();
    parser_->header_limit(limits::request_header_bytes_max);
    parser_->body_limit(sessions_.options.request_bytes_max);
    arm(sessions_.options.header_timeout_ms);
    http::async_read_header(socket_, buffer_, *parser_, [self = shared_from_this()](Code error, std::size_t) {
      if (error) return self->on_read_error(error);
      self->on_head();
    });
  }

  void on_head() {
    const auto& head = parser_->get();
    keep_alive_ = parser_->keep_alive();
    head_only_ = head.method() == http::verb::head;
    chunked_ = head.version() >= 11;
    if (head.version() >= 11 && head.count(http::field::host) != 1)
      return refuse(ErrorCode::invalid_request, "a request has exactly one Host header");
    state_ = State::body;
    arm(sessions_.options.body_timeout_ms);
    if (parser_->is_done() || !beast::iequals(head[http::field::expect], "100-continue")) return read_body();
    static constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(socket_, asio::buffer(go_on), [self = shared_from_this()](Code error, std::size_t) {
      if (error) return self->on_read_error(error);
      self->read_body();
    });
  }

  void read_body() {
    if (parser_->is_done()) return on_request();
    http::async_read(socket_, buffer_, *parser_, [self = shared_from_this()](Code error, std::size_t) {
      if (error) return self->on_read_error(error);
      self->on_request();
    });
  }

  void on_read_error(Code error) {
    if (state_ == State::closed) return;
    if (timed_out_) {
      return refuse(ErrorCode::request_timeout,
                    fmt::format("the {} did not arrive within {} ms",
                                state_ == State::head ? "headers" : "body",
                                state_ == State::head ? sessions_.options.header_timeout_ms
                                                      : sessions_.options.body_timeout_ms));
    }
    if (!is_http_error(error)) return close();
    const auto [code, text] = read_error(error, sessions_.options.request_bytes_max);
    refuse(code, text);
  }

  /// Answers a request that was not read to its end: the connection cannot be used any more.
  void refuse(ErrorCode code, std::string text) {
    keep_alive_ = false;
    write_answer(sessions_.options.on_error(code, std::move(text)));
  }

  // --- handling

  void on_request() {
    state_ = State::handler;
    disarm();
    Request request;
    auto message = parser_->release();
    parser_.reset();
    request.method = std::string(message.method_string());
    request.target = std::string(message.target());
    for (const auto& field : message)
      request.headers.emplace_back(field.name_string(), field.value());
    request.body = std::move(message.body());
    request.remote = remote_;
    const auto answer = std::make_shared<Answer>(shared_from_this());
    try {
      sessions_.handler(std::move(request),
                        [answer](Response response) { answer->give(std::move(response)); });
    } catch (const std::exception& error) {
      answer->give(sessions_.options.on_error(ErrorCode::internal_error, error.what()));
    }
  }

  /// The right to answer once. Dropped unused, it answers that the server made a mistake. It may outlive the
  /// server: only the server's thread ever looks behind the weak pointer.
  class Answer {
   public:
    explicit Answer(const std::shared_ptr<BeastSession>& session)
        : loop_(session->sessions_.loop), session_(session) {}

    ~Answer() {
      if (!given_) post(nullptr);
    }

    void give(Response response) {
      RATCHET_ENSURE(!given_.exchange(true), "a request is answered once");
      post(std::make_shared<Response>(std::move(response)));
    }

    Answer(const Answer&) = delete;
    Answer& operator=(const Answer&) = delete;

   private:
    void post(std::shared_ptr<Response> response) {
      loop_->post([weak = session_, response = std::move(response)] {
        const auto session = weak.lock();
        if (!session) return;
        session->write_answer(response ? std::move(*response)
                                       : session->sessions_.options.on_error(ErrorCode::internal_error,
                                                                             "the request was not answered"));
      });
    }

    std::shared_ptr<Loop> loop_;
    std::weak_ptr<BeastSession> session_;
    std::atomic<bool> given_ = false;
  };

  // --- writing

  void write_answer(Response response) {
    if (state_ == State::closed) return;
    state_ = State::answer;
    if (sessions_.draining || response.stream) keep_alive_ = false;
    body_ = std::move(response.stream);
    body_text_ = std::move(response.body);
    if (response.stream_bytes) chunked_ = false;
    head_text_ = format_head(response);
    std::vector<asio::const_buffer> buffers{asio::buffer(head_text_)};
    if (!head_only_ && !body_) buffers.push_back(asio::buffer(body_text_));
    arm(sessions_.options.write_timeout_ms +
        static_cast<std::int64_t>(body_text_.size() / slowest_bytes_per_ms));
    asio::async_write(socket_, buffers, [self = shared_from_this()](Code error, std::size_t) {
      if (error) return self->close();
      self->on_answered();
    });
  }

  std::string format_head(const Response& response) const {
    std::string head =
        fmt::format("HTTP/1.1 {} {}\r\n",
                    response.status,
                    std::string_view(http::obsolete_reason(http::int_to_status(response.status))));
    for (const auto& [name, value] : response.headers) {
      RATCHET_ENSURE(value.find_first_of("\r\n") == std::string::npos, "a header value is one line");
      head += fmt::format("{}: {}\r\n", name, value);
    }
    const bool bodiless = response.status == 204 || response.status == 304;
    if (body_ && response.stream_bytes)
      head += fmt::format("Content-Length: {}\r\n", *response.stream_bytes);
    else if (body_ && chunked_)
      head += "Transfer-Encoding: chunked\r\n";
    else if (!body_ && !bodiless)
      head += fmt::format("Content-Length: {}\r\n", body_text_.size());
    if (!keep_alive_) head += "Connection: close\r\n";
    return head + "\r\n";
  }

  void on_answered() {
    if (state_ == State::closed) return;
    body_text_ = {};
    if (body_ && !head_only_) return begin_stream();
    end_stream();
    if (keep_alive_) return await_request();
    linger();
  }

  /// Closes without a reset, which could take our last words from the client: says that we are done and reads
  /// away what it still sends, for a while.
  void linger() {
    state_ = State::linger;
    Code ignored;  // a client that is gone already
    socket_.shutdown(Tcp::socket::shutdown_send, ignored);
    arm(limits::linger_timeout_ms);
    buffer_ = {};
    discard();
  }

  void discard() {
    socket_.async_read_some(buffer_.prepare(kept_buffer_bytes_max),
                            [self = shared_from_this()](Code error, std::size_t) {
                              if (error || self->state_ != State::linger) return self->close();
                              self->discard();
                            });
  }

  // --- streaming

  void begin_stream() {
    state_ = State::stream;
    ++sessions_.stream_count;
    streaming_ = true;
    Code ignored;  // more is held by the kernel then
    socket_.set_option(asio::socket_base::send_buffer_size(limits::stream_send_buffer_bytes), ignored);
    body_->start([self = weak_from_this(), loop = sessions_.loop] {
      loop->post([self] {
        const auto session = self.lock();
        if (session && session->state_ == State::stream && !session->writing_) session->pump();
      });
    });
    if (sessions_.draining) body_->drain();
    watch();
    pump();
  }

  /// Writes what the stream has, or waits for it.
  void pump() {
    pieces_ = {};
    const bool more = body_->take(limits::write_bytes_max, pieces_);
    if (more && pieces_.size() == 0) return arm(sessions_.options.heartbeat_ms);
    write_pieces(!more);
  }

  void write_heartbeat() {
    pieces_ = {};
    pieces_.add_shared(body_->heartbeat(), nullptr);
    if (pieces_.size() == 0) return arm(sessions_.options.heartbeat_ms);
    write_pieces(false);
  }

  void write_pieces(bool last) {
    std::vector<asio::const_buffer> buffers;
    buffers.reserve(pieces_.views().size() + 2);
    const bool framed = chunked_ && pieces_.size() > 0;
    if (framed) {
      head_text_ = fmt::format("{:x}\r\n", pieces_.size());
      buffers.push_back(asio::buffer(head_text_));
    }
    for (const auto view : pieces_.views())
      buffers.push_back(asio::buffer(view));
    static constexpr std::string_view end_of_chunk = "\r\n", end_of_body = "0\r\n\r\n";
    if (framed) buffers.push_back(asio::buffer(end_of_chunk));
    if (chunked_ && last) buffers.push_back(asio::buffer(end_of_body));
    writing_ = true;
    arm(sessions_.options.write_timeout_ms);
    asio::async_write(socket_, buffers, [self = shared_from_this(), last](Code error, std::size_t) {
      self->writing_ = false;
      if (error) return self->close();
      if (self->state_ != State::stream) return;
      if (!last) return self->pump();
      self->end_stream();
      self->linger();
    });
  }

  /// Notices a client that leaves while there is nothing to write.
  void watch() {
    socket_.async_wait(Tcp::socket::wait_read, [self = shared_from_this()](Code error) {
      if (error || self->state_ != State::stream) return;
      char byte;
      const auto n = ::recv(self->socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
      // More requests are not read on this connection; their sender is noticed by a write.
      if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) self->close();
    });
  }

  void end_stream() {
    if (streaming_) --sessions_.stream_count;
    streaming_ = false;
    if (!body_) return;
    body_->stop();
    body_ = nullptr;
    pieces_ = {};
  }

  Sessions& sessions_;
  Tcp::socket socket_;
  asio::steady_timer deadline_;
  std::uint64_t timer_round_ = 0;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::string remote_;
  State state_ = State::idle;
  bool timed_out_ = false, keep_alive_ = false, head_only_ = false, chunked_ = true;
  bool writing_ = false, streaming_ = false;
  std::string head_text_, body_text_;
  std::shared_ptr<BodyStream> body_;
  Pieces pieces_;
};

}  // namespace

void open_session(asio::io_context& context, int fd, std::string remote, Sessions& sessions) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  const bool known = ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  const auto protocol = known && address.ss_family == AF_INET6 ? Tcp::v6() : Tcp::v4();
  try {
    const auto session = std::make_shared<BeastSession>(context, fd, protocol, std::move(remote), sessions);
    sessions.open.insert(session);
    session->await_request();
  } catch (const std::exception&) {
    ::close(fd);  // it cannot be watched: out of kernel memory for it
  }
}

}  // namespace ratchet
