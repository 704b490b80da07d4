#include "http/cli/api_client.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include "http/cli/fields.hpp"
#include "http/config/listen.hpp"
#include "runtime/model/sse.hpp"
#include "runtime/result.hpp"

namespace ratchet::cli {

namespace {

constexpr long connect_timeout_ms = 5'000;
constexpr long request_timeout_ms = 120'000;
constexpr long silence_seconds_max = 35;  // the server writes a comment every 10 s

ExitStatus status_for(long http_status) {
  switch (http_status) {
    case 401:
    case 403:
      return ExitStatus::denied;
    case 404:
      return ExitStatus::not_found;
    case 400:
    case 413:
    case 415:
    case 422:
      return ExitStatus::usage;
    case 502:
    case 503:
      return ExitStatus::unreachable;
    default:
      return ExitStatus::ended_otherwise;
  }
}

/// The text of an RFC 9457 problem: what happened, its code, and where.
std::string problem_text(long http_status, const std::string& body) {
  const Fields problem(body);
  const auto code = problem.text("code"), detail = problem.text("detail"), pointer = problem.text("pointer");
  if (code.empty()) return fmt::format("the server answered {} without saying why", http_status);
  return fmt::format("{} ({}){}",
                     detail.empty() ? problem.text("title") : detail,
                     code,
                     pointer.empty() ? "" : " at " + pointer);
}

Failure refused(long http_status, std::string body) {
  auto text = problem_text(http_status, body);
  return {status_for(http_status), std::move(text), std::move(body)};
}

/// Proxies are for the world outside; a proxy would look for its own loopback.
bool is_loopback_url(std::string_view url) {
  const auto begin = url.find("://");
  if (begin == std::string_view::npos) return false;
  auto authority = url.substr(begin + 3);
  authority = authority.substr(0, authority.find('/'));
  const auto address = parse_listen(authority);
  return address && address->loopback;
}

}  // namespace

/// What one transfer gathers, filled by libcurl's callbacks.
struct ApiClient::Transfer {
  CURL* curl;
  std::string body;
  char error[CURL_ERROR_SIZE] = "";
  curl_slist* headers = nullptr;
  // Streams only.
  const OnEvent* on_event = nullptr;
  SseReader reader;
  bool stopped = false;

  explicit Transfer(void* handle) : curl(static_cast<CURL*>(handle)) {}

  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  ~Transfer() { curl_slist_free_all(headers); }

  long status() const {
    long value = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &value);
    return value;
  }

  static std::size_t write(char* bytes, std::size_t size, std::size_t count, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    const std::string_view piece(bytes, size * count);
    if (transfer.on_event == nullptr || transfer.status() != 200) {
      transfer.body += piece;
      return piece.size();
    }
    const bool fits = transfer.reader.feed(piece, [&](std::string_view type, std::string& data) {
      if (!transfer.stopped) transfer.stopped = !(*transfer.on_event)(type, data);
    });
    return fits && !transfer.stopped ? piece.size() : 0;  // anything else ends the transfer
  }
};

ApiClient::ApiClient(std::string url, std::string key)
    : url_(std::move(url)), key_(std::move(key)), curl_(curl_easy_init()) {
  while (url_.ends_with('/'))
    url_.pop_back();
  RATCHET_ENSURE(curl_ != nullptr, "curl_easy_init failed");
}

ApiClient::~ApiClient() {
  curl_easy_cleanup(static_cast<CURL*>(curl_));
}

void ApiClient::prepare(Transfer& transfer, std::string_view path, const std::vector<std::string>& headers) {
  CURL* curl = transfer.curl;
  curl_easy_reset(curl);
  curl_easy_setopt(curl, CURLOPT_URL, fmt::format("{}{}", url_, path).c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, connect_timeout_ms);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, transfer.error);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Transfer::write);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  if (is_loopback_url(url_)) curl_easy_setopt(curl, CURLOPT_PROXY, "");
  for (const auto& header : headers)
    transfer.headers = curl_slist_append(transfer.headers, header.c_str());
  if (!key_.empty())
    transfer.headers = curl_slist_append(transfer.headers, ("Authorization: Bearer " + key_).c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, transfer.headers);
}

Failure ApiClient::unreachable(const Transfer& transfer, int code) const {
  const std::string why =
      transfer.error[0] != '\0' ? transfer.error : curl_easy_strerror(static_cast<CURLcode>(code));
  return {ExitStatus::unreachable, fmt::format("no answer from {}: {}", url_, why)};
}

Outcome<std::string> ApiClient::request(const char* method,
                                        std::string_view path,
                                        const std::string* body,
                                        const std::vector<std::string>& headers) {
  Transfer transfer(curl_);
  prepare(transfer, path, headers);
  curl_easy_setopt(transfer.curl, CURLOPT_TIMEOUT_MS, request_timeout_ms);
  curl_easy_setopt(transfer.curl, CURLOPT_CUSTOMREQUEST, method);
  if (body != nullptr) {
    curl_easy_setopt(transfer.curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body->size()));
    curl_easy_setopt(transfer.curl, CURLOPT_POSTFIELDS, body->data());
  }
  const auto code = curl_easy_perform(transfer.curl);
  if (code != CURLE_OK) return tl::unexpected(unreachable(transfer, code));
  const auto status = transfer.status();
  if (status >= 200 && status < 300) return std::move(transfer.body);
  return tl::unexpected(refused(status, std::move(transfer.body)));
}

Outcome<std::string> ApiClient::get(std::string_view path) {
  return request("GET", path, nullptr, {"Accept: application/json"});
}

Outcome<std::string> ApiClient::post(std::string_view path, const std::string& json) {
  // An empty `Expect:` keeps libcurl from waiting for a 100 before a large body.
  return request(
      "POST", path, &json, {"Accept: application/json", "Content-Type: application/json", "Expect:"});
}

Outcome<std::string> ApiClient::post_bytes(std::string_view path, const std::string& bytes) {
  return request("POST",
                 path,
                 &bytes,
                 {"Accept: application/json", "Content-Type: application/octet-stream", "Expect:"});
}

Outcome<ApiClient::StreamEnd> ApiClient::stream(std::string_view path,
                                                std::uint64_t after,
                                                const OnEvent& on_event) {
  Transfer transfer(curl_);
  transfer.on_event = &on_event;
  prepare(transfer, path, {"Accept: text/event-stream", fmt::format("Last-Event-ID: {}", after)});
  curl_easy_setopt(transfer.curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(transfer.curl, CURLOPT_LOW_SPEED_TIME, silence_seconds_max);
  const auto code = curl_easy_perform(transfer.curl);
  const auto status = transfer.status();
  if (transfer.stopped) return StreamEnd::stopped;
  if (status == 0) return tl::unexpected(unreachable(transfer, code));
  if (status == 204) return StreamEnd::empty;
  if (status != 200) return tl::unexpected(refused(status, std::move(transfer.body)));
  return StreamEnd::closed;
}

std::string encoded(std::string_view part) {
  std::string out;
  for (const char c : part) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace ratchet::cli
