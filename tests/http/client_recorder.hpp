#pragma once
// What became of a request, to be awaited by a test.

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "http/client/transport.hpp"
#include "tests/fakes/byte_server.hpp"

namespace ratchet::tests {

/// Shared between the test and the sink that the transport owns.
class Record {
 public:
  struct Seen {
    HttpHead head;
    std::string body;
    std::size_t pauses = 0;
    std::optional<HttpEnd> end;
    std::size_t ends = 0;
    bool destroyed = false;
  };

  template <class Change>
  void change(Change&& change) {
    {
      const std::lock_guard lock(mutex_);
      change(seen_);
    }
    changed_.notify_all();
  }

  /// Waits until the condition holds; what was seen then. Fails the test after a minute.
  template <class Condition>
  Seen await(Condition&& condition) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::minutes(1), [&] { return condition(seen_); }))
      ADD_FAILURE() << "never happened; body so far: " << seen_.body;
    return seen_;
  }

  /// The end, with everything before it.
  Seen await_end() {
    return await([](const Seen& seen) { return seen.end.has_value(); });
  }

  Seen await_bytes(std::size_t count) {
    return await([count](const Seen& seen) { return seen.body.size() >= count; });
  }

  Seen await_destroyed() {
    return await([](const Seen& seen) { return seen.destroyed; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Seen seen_;
};

class RecordingSink final : public HttpSink {
 public:
  explicit RecordingSink(std::shared_ptr<Record> record,
                         std::string settled_by = {},
                         std::string stopped_by = {})
      : record_(std::move(record)), settled_by_(std::move(settled_by)), stopped_by_(std::move(stopped_by)) {}

  ~RecordingSink() override {
    record_->change([](Record::Seen& seen) { seen.destroyed = true; });
  }

  void on_head(const HttpHead& head) override {
    record_->change([&](Record::Seen& seen) { seen.head = head; });
  }

  Next on_bytes(std::string_view bytes) override {
    bool settled = false, stopped = false;
    record_->change([&](Record::Seen& seen) {
      seen.body += bytes;
      settled = !settled_by_.empty() && seen.body.find(settled_by_) != std::string::npos;
      stopped = !stopped_by_.empty() && seen.body.find(stopped_by_) != std::string::npos;
    });
    return settled ? Next::settled : stopped ? Next::stop : Next::more;
  }

  void on_pause() override {
    record_->change([](Record::Seen& seen) { ++seen.pauses; });
  }

  void on_end(const HttpEnd& end) override {
    record_->change([&](Record::Seen& seen) {
      seen.end = end;
      ++seen.ends;
    });
  }

 private:
  std::shared_ptr<Record> record_;
  std::string settled_by_, stopped_by_;
};

inline Body body_of(std::initializer_list<std::string> pieces) {
  Body body;
  for (const std::string& piece : pieces)
    body.push_back(std::make_shared<const std::string>(piece));
  return body;
}

inline std::string reply_with_length(std::string_view body, std::string_view status = "200 OK") {
  return "HTTP/1.1 " + std::string(status) + "\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + std::string(body);
}

struct Started {
  std::shared_ptr<Record> record;
  Transport::Ticket ticket;
};

inline Started start(Transport& transport,
                     HttpRequest request,
                     std::string settled_by = {},
                     std::string stopped_by = {}) {
  auto record = std::make_shared<Record>();
  const auto ticket =
      transport.start(std::move(request), std::make_unique<RecordingSink>(record, settled_by, stopped_by));
  return {record, ticket};
}

/// A call that may be repeated.
inline HttpRequest post(const std::string& url, std::string body = "{}") {
  HttpRequest request;
  request.url = url;
  request.body = body_of({std::move(body)});
  request.repeatable = true;
  return request;
}

}  // namespace ratchet::tests
