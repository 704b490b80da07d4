#include "http/client/transport.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <mutex>
#include <pthread.h>
#include <signal.h>
#include <thread>
#include <unordered_map>
#include <vector>

#include "http/client/exchange.hpp"

namespace ratchet {

namespace {

constexpr std::size_t spare_handles_max = 1'024;  // more are freed: a handle keeps some kilobytes
constexpr std::chrono::milliseconds wait_for_descriptors{50};  // others may leave some without telling us

}  // namespace

/// The mutex guards the inbox and the table of calls; everything else belongs to the thread.
struct Transport::Impl {
  using Shared = std::shared_ptr<Exchange>;

  explicit Impl(TransportOptions options) : context(std::move(options)) {
    thread = std::thread([this] { run(); });
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
      context.loop.ring();
    }
    thread.join();
  }

  Ticket submit(HttpRequest request, std::unique_ptr<HttpSink> sink, std::optional<HttpEnd> verdict) {
    auto exchange = std::make_shared<Exchange>(context, std::move(request), std::move(sink));
    exchange->verdict = std::move(verdict);
    const std::lock_guard lock(mutex);
    exchange->ticket = ++last_ticket;
    calls.emplace(exchange->ticket, exchange);
    post(started, std::move(exchange));
    return last_ticket;
  }

  void cancel(Ticket ticket) {
    const std::lock_guard lock(mutex);
    const auto found = calls.find(ticket);
    if (found == calls.end()) return;
    found->second->gate.shut();
    post(cancelled, found->second);
  }

  /// The doorbell rings only when the thread may have gone to sleep over an empty inbox.
  void post(std::vector<Shared>& inbox, Shared exchange) {
    const bool was_empty = started.empty() && cancelled.empty();
    inbox.push_back(std::move(exchange));
    if (was_empty) context.loop.ring();
  }

  void run() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);  // SIGPIPE from a TLS connection, above all
    pthread_setname_np(pthread_self(), "calls");
    while (take_inbox()) {
      begin_waiting();
      context.loop.turn(next_due());
      tell_pauses();
      collect_finished();
      expire();
    }
    shut_down();
  }

  /// False: it is time to stop.
  bool take_inbox() {
    {
      const std::lock_guard lock(mutex);
      if (stopping) return false;
      taken_started.swap(started);
      taken_cancelled.swap(cancelled);
    }
    for (Shared& exchange : taken_started)
      if (exchange->verdict)
        begin(*exchange);
      else
        waiting.push_back(std::move(exchange));
    for (const Shared& exchange : taken_cancelled)
      finish(*exchange, {HttpEnd::Kind::stopped, true, "cancelled"});
    taken_started.clear();
    taken_cancelled.clear();
    return true;
  }

  /// In the order in which they came, as far as there are descriptors.
  void begin_waiting() {
    for (; !waiting.empty() && context.descriptors.call_fits(); waiting.pop_front())
      if (!waiting.front()->gate.is_shut()) begin(*waiting.front());
  }

  std::optional<CurlLoop::Time> next_due() const {
    const auto due = context.deadlines.next();
    if (waiting.empty()) return due;
    const auto look_again = std::chrono::steady_clock::now() + wait_for_descriptors;
    return due ? std::min(*due, look_again) : look_again;
  }

  void begin(Exchange& exchange) {
    if (exchange.verdict || !exchange.prepare(take_handle())) {
      finish(exchange, *exchange.verdict);
      return;
    }
    exchange.lane = context.loop.add(exchange.easy.get());
    ++context.descriptors.calls;
  }

  void tell_pauses() {
    for (Exchange* exchange : context.delivered) {
      exchange->delivering = false;
      if (exchange->sink != nullptr) exchange->gate.pass([&] { exchange->sink->on_pause(); });
    }
    context.delivered.clear();
  }

  void collect_finished() {
    while (true) {
      const auto [easy, result] = context.loop.finished();
      if (easy == nullptr) return;
      char* user = nullptr;
      curl_easy_getinfo(easy, CURLINFO_PRIVATE, &user);
      Exchange& exchange = *static_cast<Exchange*>(static_cast<void*>(user));
      finish(exchange, exchange.end(result));
    }
  }

  void expire() {
    context.deadlines.expire(
        context.loop.now(),
        [this](Ticket ticket) -> Deadlines::Slot& { return find(ticket).deadline; },
        [this](Ticket ticket) {
          Exchange& exchange = find(ticket);
          finish(exchange, exchange.time_out());
        });
  }

  /// Of a call that has a deadline, and so is under way.
  Exchange& find(Ticket ticket) {
    const std::lock_guard lock(mutex);
    return *calls.at(ticket);
  }

  /// Takes the exchange out and tells its end. An exchange that is gone already is left alone.
  void finish(Exchange& exchange, const HttpEnd& end) {
    Shared keep;
    {
      const std::lock_guard lock(mutex);
      const auto found = calls.find(exchange.ticket);
      if (found == calls.end()) return;
      keep = std::move(found->second);
      calls.erase(found);
    }
    context.deadlines.remove(exchange.ticket, exchange.deadline);
    if (exchange.easy != nullptr) {
      take_out(exchange);
      Easy handle = exchange.release();
      if (spare.size() < spare_handles_max) spare.push_back(std::move(handle));
    }
    if (exchange.sink != nullptr) exchange.tell(end);
  }

  void take_out(Exchange& exchange) {
    context.loop.remove(exchange.easy.get(), exchange.lane);
    --context.descriptors.calls;
  }

  Easy take_handle() {
    if (spare.empty()) return make_easy(context);
    Easy handle = std::move(spare.back());
    spare.pop_back();
    return handle;
  }

  /// Handles and connections are closed here, on the thread with SIGPIPE blocked.
  void shut_down() {
    const std::lock_guard lock(mutex);
    for (auto& [ticket, exchange] : calls) {
      exchange->gate.shut();
      if (exchange->easy != nullptr) take_out(*exchange);
      exchange->easy = nullptr;
    }
    spare.clear();
    context.loop.close();
  }

  ExchangeContext context;
  std::vector<Easy> spare;
  std::vector<Shared> taken_started, taken_cancelled;
  std::deque<Shared> waiting;  ///< for descriptors; those that were cancelled are passed over

  std::mutex mutex;
  std::unordered_map<Ticket, Shared> calls;
  std::vector<Shared> started, cancelled;
  Ticket last_ticket = 0;
  bool stopping = false;

  std::thread thread;
};

Transport::Transport(TransportOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

Transport::~Transport() = default;

Transport::Ticket Transport::start(HttpRequest request, std::unique_ptr<HttpSink> sink) {
  return impl_->submit(std::move(request), std::move(sink), std::nullopt);
}

Transport::Ticket Transport::refuse(std::string text, std::unique_ptr<HttpSink> sink) {
  return impl_->submit({}, std::move(sink), HttpEnd{HttpEnd::Kind::refused, false, std::move(text)});
}

void Transport::cancel(Ticket ticket) {
  impl_->cancel(ticket);
}

Result<void> Transport::forbid(const std::string& host_port) {
  return impl_->context.dial_filter.forbid(host_port);
}

bool Transport::may_dial(const sockaddr& address) const {
  return impl_->context.dial_filter.allows(address);
}

}  // namespace ratchet
