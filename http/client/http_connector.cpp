#include "http/client/http_connector.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <optional>

#include <curl/curl.h>
#include <fmt/format.h>

namespace ratchet {

namespace {

using SteadyClock = std::chrono::steady_clock;

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

class Url {
 public:
  /// As libcurl reads it, so that what is checked is what is dialled.
  static std::optional<Url> parse(const std::string& text) {
    Url url;
    if (curl_url_set(url.handle_.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) return std::nullopt;
    return url;
  }

  std::string part(CURLUPart what, unsigned flags = 0) const {
    char* text = nullptr;
    if (curl_url_get(handle_.get(), what, &text, flags) != CURLUE_OK) return {};
    const std::unique_ptr<char, decltype(&curl_free)> owner(text, curl_free);
    return text;
  }

  std::string host_port() const {
    return lower(part(CURLUPART_HOST)) + ":" + part(CURLUPART_PORT, CURLU_DEFAULT_PORT);
  }

 private:
  std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> handle_{curl_url(), curl_url_cleanup};
};

bool is_allowed(const std::string& host_port, const std::vector<std::string>& network_allow) {
  return std::ranges::any_of(network_allow,
                             [&](const std::string& allowed) { return lower(allowed) == host_port; });
}

/// How long the message is and to whom it goes is not for a template to say.
bool is_framing(const std::string& name) {
  constexpr std::array<std::string_view, 9> framing = {"host",
                                                       "content-length",
                                                       "transfer-encoding",
                                                       "connection",
                                                       "upgrade",
                                                       "te",
                                                       "trailer",
                                                       "expect",
                                                       "proxy-authorization"};
  return std::ranges::find(framing, name) != framing.end();
}

/// Why the call is not sent, or nothing.
std::string refusal(const ConnectorCall& call, const std::optional<Url>& url) {
  if (!url) return "the URL cannot be read";
  const auto scheme = lower(url->part(CURLUPART_SCHEME));
  if (scheme != "http" && scheme != "https")
    return fmt::format("the scheme '{}' is not http or https", scheme);
  if (!url->part(CURLUPART_USER).empty() || !url->part(CURLUPART_PASSWORD).empty())
    return "a URL with a user or a password in it is not called";
  const auto host_port = url->host_port();
  if (!is_allowed(host_port, call.network_allow))
    return fmt::format("{} is not in the tool's network allow list", host_port);
  for (const auto& [name, value] : call.headers)
    if (is_framing(lower(name))) return fmt::format("the header '{}' is not a tool's to set", name);
  return {};
}

bool may_be_sent_twice(const ConnectorCall& call) {
  if (call.repeatable || call.method == "GET" || call.method == "HEAD") return true;
  return std::ranges::any_of(call.headers, [](const auto& header) {
    return lower(header.first) == "idempotency-key" && !header.second.empty();
  });
}

class ConnectorSink final : public HttpSink {
 public:
  explicit ConnectorSink(Connector::OnDone on_done) : on_done_(std::move(on_done)) {}

  void on_head(const HttpHead& head) override { outcome_.status = head.status; }

  Next on_bytes(std::string_view bytes) override {
    outcome_.body += bytes;
    return Next::more;
  }

  void on_end(const HttpEnd& end) override {
    using Kind = ConnectorOutcome::Kind;
    if (end.kind == HttpEnd::Kind::complete) {
      outcome_.kind = Kind::answered;
    } else {
      outcome_ = {};
      outcome_.kind = end.may_have_left ? Kind::unknown : Kind::not_sent;
      outcome_.text = end.text;
    }
    outcome_.latency_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - start_).count();
    on_done_(std::move(outcome_));
  }

 private:
  Connector::OnDone on_done_;
  ConnectorOutcome outcome_;
  const SteadyClock::time_point start_ = SteadyClock::now();
};

HttpRequest request_of(ConnectorCall& call) {
  HttpRequest request;
  request.repeatable = may_be_sent_twice(call);
  request.method = std::move(call.method);
  request.headers = std::move(call.headers);
  if (!call.body.empty()) request.body.push_back(std::make_shared<const std::string>(std::move(call.body)));
  request.total_timeout_ms = call.timeout_ms;
  request.reply_bytes_max = call.reply_bytes_max == 0 ? limits::artifact_bytes_max : call.reply_bytes_max;
  return request;
}

}  // namespace

Connector::Ticket CurlConnector::start(ConnectorCall call, OnDone on_done) {
  auto sink = std::make_unique<ConnectorSink>(std::move(on_done));
  const auto url = Url::parse(call.url);
  if (auto why = refusal(call, url); !why.empty()) return transport_.refuse(std::move(why), std::move(sink));
  auto request = request_of(call);
  request.url = url->part(CURLUPART_URL);  // as it was checked
  if (!call.trusted) request.reach = reach_of(url->host_port(), private_hosts_);
  return transport_.start(std::move(request), std::move(sink));
}

}  // namespace ratchet
