#include "http/client/model_client.hpp"

#include <array>
#include <chrono>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "runtime/model/reply_parser.hpp"
#include "runtime/model/wire.hpp"

namespace ratchet {

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t spare_parsers_max = 32;  // of one protocol; more are freed, their buffers with them

std::int64_t ms_since(SteadyClock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - start).count();
}

/// The transport's ways to fail that another attempt with the same provider does not mend.
bool is_permanent(HttpEnd::Kind kind) {
  return kind == HttpEnd::Kind::refused || kind == HttpEnd::Kind::distrusted ||
         kind == HttpEnd::Kind::too_large;
}

}  // namespace

/// What the calls under way use of the client. The parsers are touched by the transport's thread only.
struct ModelClientShared {
  ModelClientShared(Clock& clock_, KeyRing keys_) : clock(clock_), keys(std::move(keys_)) {}

  std::unique_ptr<ReplyParser> take_parser(Protocol protocol) {
    auto& spare = parsers[static_cast<std::size_t>(protocol)];
    if (spare.empty()) return make_reply_parser(protocol);
    auto parser = std::move(spare.back());
    spare.pop_back();
    return parser;
  }

  /// Takes parsers that have finished a reply: those are ready for another.
  void give_back(Protocol protocol, std::unique_ptr<ReplyParser> parser) {
    auto& spare = parsers[static_cast<std::size_t>(protocol)];
    if (spare.size() < spare_parsers_max) spare.push_back(std::move(parser));
  }

  Clock& clock;
  const KeyRing keys;
  std::array<std::vector<std::unique_ptr<ReplyParser>>, 3> parsers;
};

namespace {

/// One attempt: bytes of the provider in, deltas and an outcome out.
class ModelSink final : public HttpSink {
 public:
  ModelSink(std::shared_ptr<ModelClientShared> shared,
            Protocol protocol,
            std::string_view key,
            ModelClient::OnDelta on_delta,
            ModelClient::OnDone on_done)
      : shared_(std::move(shared)),
        protocol_(protocol),
        key_(key),
        on_delta_(std::move(on_delta)),
        on_done_(std::move(on_done)),
        collect_([this](std::uint64_t index, std::string_view text) { collect(index, text); }) {}

  void on_head(const HttpHead& head) override {
    end_.http_status = head.status;
    end_.retry_after = head.header("retry-after");
    end_.retry_after_ms = head.header("retry-after-ms");
    end_.x_should_retry = head.header("x-should-retry");
  }

  Next on_bytes(std::string_view bytes) override {
    if (!ttft_ms_) ttft_ms_ = ms_since(start_);
    switch (parser().feed(bytes, collect_)) {
      case ReplyParser::Progress::more:
        return Next::more;
      case ReplyParser::Progress::whole:
        return Next::settled;
      case ReplyParser::Progress::failed:
        return Next::stop;
    }
    return Next::stop;
  }

  void on_pause() override {
    if (waiting_.empty()) return;
    if (on_delta_) on_delta_(waiting_index_, waiting_);
    waiting_.clear();
  }

  void on_end(const HttpEnd& end) override {
    on_pause();
    // Where the parser wanted no more it knows why; the transport's word would only hide it.
    if (end.kind != HttpEnd::Kind::stopped) end_.transport_error = end.text;
    end_.now = shared_->clock.now();
    end_.secret = key_;
    ModelOutcome outcome;
    outcome.value = parser().finish(end_);
    outcome.latency_ms = ms_since(start_);
    outcome.ttft_ms = ttft_ms_.value_or(outcome.latency_ms);
    if (auto* failure = std::get_if<ModelFailure>(&outcome.value); failure && is_permanent(end.kind))
      failure->kind = FailureClass::permanent;
    shared_->give_back(protocol_, std::move(parser_));
    on_done_(std::move(outcome));
  }

 private:
  /// Taken on the transport's thread, where the spare ones are.
  ReplyParser& parser() {
    if (!parser_) parser_ = shared_->take_parser(protocol_);
    return *parser_;
  }

  void collect(std::uint64_t index, std::string_view text) {
    if (waiting_.empty()) waiting_index_ = index;
    waiting_ += text;
  }

  std::shared_ptr<ModelClientShared> shared_;
  Protocol protocol_;
  std::string_view key_;  // of shared_->keys
  ModelClient::OnDelta on_delta_;
  ModelClient::OnDone on_done_;
  ReplyParser::OnDelta collect_;
  const SteadyClock::time_point start_ = SteadyClock::now();
  std::optional<std::int64_t> ttft_ms_;
  std::unique_ptr<ReplyParser> parser_;
  ReplyEnd end_;
  std::string waiting_;  // text that was not shown yet
  std::uint64_t waiting_index_ = 0;
};

HttpRequest request_of(ModelCall& call, std::string_view key) {
  HttpRequest request;
  request.url = endpoint_url(call.endpoint);
  request.headers = request_headers(call.endpoint);
  if (!key.empty()) {
    if (call.endpoint.key_header == KeyHeader::bearer)
      request.headers.emplace_back("authorization", "Bearer " + std::string(key));
    else
      request.headers.emplace_back("x-api-key", key);
  }
  request.body = std::move(call.body);
  request.repeatable = true;  // a model call changes nothing; libcurl repeats it only before any reply
  request.first_byte_timeout_ms = call.first_byte_timeout_ms;
  return request;
}

/// Tickets of the two clients behind this one: even ones are the transport's.
constexpr ModelClient::Ticket of_transport(std::uint64_t ticket) {
  return ticket * 2;
}

constexpr ModelClient::Ticket of_scripted(std::uint64_t ticket) {
  return ticket * 2 + 1;
}

}  // namespace

CurlModelClient::CurlModelClient(Transport& transport, ScriptedClient& scripted, Clock& clock, KeyRing keys)
    : transport_(transport),
      scripted_(scripted),
      shared_(std::make_shared<ModelClientShared>(clock, std::move(keys))) {}

CurlModelClient::~CurlModelClient() = default;

ModelClient::Ticket CurlModelClient::start(ModelCall call, OnDelta on_delta, OnDone on_done) {
  if (call.endpoint.protocol == Protocol::scripted)
    return of_scripted(scripted_.start(std::move(call), std::move(on_delta), std::move(on_done)));
  const KeyRing::Key* key = shared_->keys.find(call.model, call.provider);
  const std::string_view secret = key == nullptr ? std::string_view{} : key->secret;
  auto sink = std::make_unique<ModelSink>(
      shared_, call.endpoint.protocol, secret, std::move(on_delta), std::move(on_done));
  if (key != nullptr && key->base_url != call.endpoint.base_url)
    return of_transport(transport_.refuse(
        fmt::format(
            "provider {} of model {} was at {} when the run started and is now configured for {}: its key "
            "is not sent to the old address",
            call.provider,
            call.model,
            call.endpoint.base_url,
            key->base_url),
        std::move(sink)));
  return of_transport(transport_.start(request_of(call, secret), std::move(sink)));
}

void CurlModelClient::cancel(Ticket ticket) {
  if (ticket % 2 == 0)
    transport_.cancel(ticket / 2);
  else
    scripted_.cancel(ticket / 2);
}

}  // namespace ratchet
