#include "runtime/model/reply_base.hpp"

#include <fmt/format.h>

#include "runtime/limits.hpp"

namespace ratchet {

namespace {

constexpr std::size_t head_bytes_max = 4'096;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

const ReplyParser::OnDelta nobody_listens;

std::string_view without_leading_space(std::string_view text) {
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  const auto begin = text.find_first_not_of(" \t\r\n");
  return begin == std::string_view::npos ? std::string_view{} : text.substr(begin);
}

/// The beginning of a body that is no JSON. Its last word may be cut, and half a secret is not recognised.
std::string_view whole_words(std::string_view head) {
  return head.size() < head_bytes_max ? head : head.substr(0, head.find_last_of(" \t\r\n>") + 1);
}

}  // namespace

BasicReplyParser::BasicReplyParser()
    : on_delta_(&nobody_listens), on_event_([this](std::string_view type, std::string& data) {
        if (!reply_.whole && !reply_.error && reply_.broken.empty()) read_event(type, data);
      }) {}

ReplyParser::Progress BasicReplyParser::feed(std::string_view bytes, const OnDelta& on_delta) {
  bytes_ += bytes.size();
  if (bytes_ > limits::reply_bytes_max) {
    reply_.broken = fmt::format("longer than {} bytes", limits::reply_bytes_max);
  } else {
    on_delta_ = &on_delta;
    take(bytes);
    on_delta_ = &nobody_listens;
  }
  if (!reply_.broken.empty() || reply_.error) return Progress::failed;
  return reply_.whole ? Progress::whole : Progress::more;
}

void BasicReplyParser::take(std::string_view bytes) {
  if (head_.size() < head_bytes_max) head_.append(bytes.substr(0, head_bytes_max - head_.size()));
  if (form_ == Form::unknown) {
    body_.append(bytes);
    const auto begin = without_leading_space(body_);
    const bool partial_mark = byte_order_mark.starts_with(body_);
    if (begin.empty() || partial_mark) return;
    form_ = begin[0] == '{' || begin[0] == '[' ? Form::json : Form::stream;
    if (form_ == Form::json) return;
    const auto first = std::move(body_);
    body_.clear();
    if (!sse_.feed(first, on_event_)) reply_.broken = "a line is too long";
  } else if (form_ == Form::json) {
    body_.append(bytes);
  } else if (!sse_.feed(bytes, on_event_)) {
    reply_.broken = "a line is too long";
  }
}

std::variant<ModelReply, ModelFailure> BasicReplyParser::finish(const ReplyEnd& end) {
  close(end);
  auto outcome = verdict(end);
  reply_.reset();
  reset_dialect();
  sse_.reset();
  form_ = Form::unknown;
  head_.clear();
  body_.clear();
  bytes_ = 0;
  return outcome;
}

/// Reads what is only complete now.
void BasicReplyParser::close(const ReplyEnd& end) {
  if (!reply_.broken.empty()) return;
  const bool success = end.http_status >= 200 && end.http_status < 300;
  if (form_ == Form::stream && end.transport_error.empty()) {
    static_cast<void>(sse_.finish(on_event_));
    // An event that was cut was not sent: whether the reply is whole without it, the verdict says.
    reply_.broken.clear();
  } else if (form_ == Form::json && success && end.transport_error.empty()) {
    body_ = without_leading_space(body_);
    body_.resize(body_.find_last_not_of(" \t\r\n") + 1);
    read_body(body_);
  }
}

std::variant<ModelReply, ModelFailure> BasicReplyParser::verdict(const ReplyEnd& end) {
  if (end.http_status != 0 && (end.http_status < 200 || end.http_status >= 300)) {
    if (!reply_.error) reply_.error = read_provider_error(form_ == Form::json ? body_ : whole_words(head_));
  }
  if (reply_.error) {
    auto failed = provider_failure(*reply_.error, end);
    failed.produced = failed.produced || reply_.produced();
    failed.usage = reply_.usage.total();
    return failed;
  }
  if (!reply_.broken.empty()) {
    const auto kind = bytes_ > limits::reply_bytes_max ? FailureClass::permanent : FailureClass::transient;
    return failure(kind, "unreadable reply: " + reply_.broken, end);
  }
  if (end.http_status != 0 && reply_.stop) return reply_.build();
  if (!end.transport_error.empty()) {
    const auto after = bytes_ > 0 ? fmt::format(" after {} bytes of the reply", bytes_) : std::string{};
    return failure(FailureClass::transient, end.transport_error + after, end);
  }
  if (bytes_ == 0) return failure(FailureClass::transient, "the reply is empty", end);
  if (reply_.produced()) return failure(FailureClass::transient, "the reply ended before it was whole", end);
  return failure(FailureClass::transient, fmt::format("no model's reply: {}", whole_words(head_)), end);
}

ModelFailure BasicReplyParser::failure(FailureClass kind, std::string_view text, const ReplyEnd& end) {
  return ModelFailure{
      kind, error_text(text, end.secret), retry_after_ms(end), reply_.produced(), reply_.usage.total()};
}

}  // namespace ratchet
