#include "bench/mock_model/connection.hpp"

#include <charconv>
#include <stdexcept>
#include <sys/epoll.h>
#include <utility>

#include "bench/common/mix.hpp"
#include "bench/common/prose.hpp"
#include "bench/common/run_mark.hpp"
#include "bench/mock_model/conversation.hpp"

namespace ratchet::bench {

namespace {

constexpr std::string_view json = "application/json";
constexpr std::string_view text = "text/plain";

}  // namespace

MockConnection::MockConnection(MockServer& server, std::uint64_t id, Socket socket)
    : server_(server), id_(id), socket_(std::move(socket)), connected_ns_(server.loop_.round_ns()) {
  server_.loop_.add(socket_.fd(), EPOLLIN, *this);
}

void MockConnection::on_io(std::uint32_t events) {
  if (closed_) return;
  if (events & EPOLLOUT) flush();
  if (!closed_ && (events & (EPOLLIN | EPOLLHUP | EPOLLERR))) {
    if (in_.empty()) arrived_ns_ = server_.loop_.round_ns();
    if (!socket_.read_some(in_)) return close();
    take_requests();
  }
}

void MockConnection::take_requests() try {
  while (!closed_ && busy_ == Busy::no && !in_.empty()) {
    const auto head = parse_request_head(in_);
    if (!head) return;
    if (head->chunked) throw std::runtime_error("a request needs a Content-Length here");
    const auto request_bytes = head->head_bytes + head->body_bytes;
    if (in_.size() < request_bytes) {
      if (head->expects_continue && !std::exchange(continue_sent_, true)) {
        out_ += "HTTP/1.1 100 Continue\r\n\r\n";
        flush();
      }
      return;
    }
    continue_sent_ = false;
    route(*head, std::string_view(in_).substr(head->head_bytes, head->body_bytes));
    in_.erase(0, request_bytes);
  }
} catch (const std::runtime_error& error) {
  append_reply(400, text, error.what(), out_);
  flush();
  close();
}

void MockConnection::route(const RequestHead& head, std::string_view body) {
  const auto target = head.target;
  if (target == "/v1/messages") return start_model_reply(ModelProtocol::anthropic, body);
  if (target == "/v1/chat/completions") return start_model_reply(ModelProtocol::openai, body);
  if (target == "/tool/lookup") return start_tool_reply(head.idempotency_key, body);
  if (target == "/stats") return reply_now(200, json, server_.ledger_.to_json());
  if (target == "/stats/reset") {
    server_.ledger_.reset();
    return reply_now(200, json, "{}\n");
  }
  if (target == "/mark") {
    server_.ledger_.mark(now_ns());
    return reply_now(200, json, server_.ledger_.to_json());
  }
  static constexpr std::string_view finished = "/finished?after=";
  if (target.starts_with(finished)) {
    const auto number = target.substr(finished.size());
    std::from_chars(number.data(), number.data() + number.size(), finished_after_);
    busy_ = Busy::finished;
    server_.finished_waiters_.push_back(id_);
    return answer_finished();
  }
  reply_now(404, text, "no such route\n");
}

void MockConnection::start_model_reply(ModelProtocol protocol, std::string_view body) {
  const auto& options = server_.options_;
  run_ = options.mix ? find_first_run(body) : find_run(body);
  const auto step = count_assistant_messages(body) + 1;
  const auto run = run_.value_or(0);
  const auto steps = run >= first_child ? child_steps : options.steps;
  reply_ = {.protocol = protocol,
            .run = run,
            .step = step,
            .final = step >= steps,
            .tool = options.tool,
            .arguments = fill_in(options.arguments, run, step, body),
            .request_bytes = body.size(),
            .pieces = options.chunks};
  if (const auto special = special_call(run, step); options.mix && special && !reply_.final) {
    reply_.tool = tool_of(*special);
    reply_.arguments = fill_in(arguments_of(*special), run, step, body);
  }
  pieces_sent_ = 0;
  busy_ = Busy::model;
  server_.ledger_.model_asked({run_, step, arrived_ns_, connected_ns_});
  send_next_piece();
}

/// Sends every piece that is due, and comes again when the next one is.
void MockConnection::send_next_piece() {
  const auto& options = server_.options_;
  const auto latency_ns = options.latency_ms * 1'000'000;
  const auto due_ns = [&](unsigned piece) {
    return arrived_ns_ + (options.burst ? latency_ns : latency_ns * (piece + 1) / reply_.pieces);
  };
  const auto now = now_ns();
  while (pieces_sent_ < reply_.pieces && due_ns(pieces_sent_) <= now)
    append_piece(reply_, pieces_sent_++, out_);
  reply_whole_ = pieces_sent_ == reply_.pieces;
  if (!reply_whole_) server_.later(due_ns(pieces_sent_), id_, &MockConnection::send_next_piece);
  flush();
}

void MockConnection::start_tool_reply(std::string_view key, std::string_view body) {
  run_ = find_run(body);
  tool_step_ = find_step(body);
  busy_ = Busy::tool;
  server_.ledger_.tool_asked({run_, tool_step_, arrived_ns_, connected_ns_}, key);
  if (server_.options_.tool_latency_ms == 0) return send_tool_result();
  server_.later(
      arrived_ns_ + server_.options_.tool_latency_ms * 1'000'000, id_, &MockConnection::send_tool_result);
}

void MockConnection::send_tool_result() {
  append_reply(200, text, found(run_.value_or(0), tool_step_), out_);
  reply_whole_ = true;
  flush();
}

void MockConnection::answer_finished() {
  const auto& runs = server_.finished_runs_;
  if (busy_ != Busy::finished || finished_after_ >= runs.size()) return;
  std::string lines;
  for (auto i = finished_after_; i < runs.size(); ++i)
    lines += std::to_string(runs[i]) + '\n';
  std::erase(server_.finished_waiters_, id_);
  reply_now(200, text, lines);
}

void MockConnection::reply_now(int status, std::string_view type, std::string_view body) {
  append_reply(status, type, body, out_);
  reply_whole_ = true;
  flush();
}

void MockConnection::flush() {
  const auto sent = socket_.write_some(out_);
  if (!sent) return close();
  out_.erase(0, *sent);
  const bool wants_write = !out_.empty();
  if (wants_write != wants_write_) {
    server_.loop_.modify(socket_.fd(), wants_write ? EPOLLIN | EPOLLOUT : EPOLLIN, *this);
    wants_write_ = wants_write;
  }
  if (!wants_write && reply_whole_) reply_has_left();
}

void MockConnection::reply_has_left() {
  const auto was = std::exchange(busy_, Busy::no);
  reply_whole_ = false;
  if (was == Busy::tool) server_.ledger_.tool_answered(run_, now_ns());
  if (was == Busy::model) {
    server_.ledger_.model_answered(run_, now_ns(), reply_.final);
    if (reply_.final && run_) {
      server_.finished_runs_.push_back(*run_);
      server_.answer_finished_waiters();
    }
  }
}

void MockConnection::close() {
  if (std::exchange(closed_, true)) return;
  if (busy_ == Busy::model || busy_ == Busy::tool) server_.ledger_.cut_off(run_);
  server_.drop(id_);
}

}  // namespace ratchet::bench
