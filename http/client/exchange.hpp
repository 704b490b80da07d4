#pragma once
// One request on its way: the easy handle, what its callbacks know, and how its end is told. Internal to the
// transport; all of it runs on the transport's thread, `gate` excepted.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <curl/curl.h>

#include "http/client/body_reader.hpp"
#include "http/client/callback_gate.hpp"
#include "http/client/curl_loop.hpp"
#include "http/client/deadlines.hpp"
#include "http/client/dial_filter.hpp"
#include "http/client/transport.hpp"
#include "runtime/descriptors.hpp"

namespace ratchet {

struct Exchange;

/// What all exchanges of a transport share.
struct ExchangeContext {
  explicit ExchangeContext(TransportOptions options_)
      : options(std::move(options_)),
        descriptors(options.descriptors != nullptr ? *options.descriptors : unbounded),
        loop(options.lane_calls_max, std::chrono::milliseconds(options.idle_connection_ms)) {}

  const TransportOptions options;
  Descriptors unbounded{SIZE_MAX};
  Descriptors& descriptors;
  CurlLoop loop;
  DialFilter dial_filter;
  Deadlines deadlines;
  std::vector<Exchange*> delivered;  ///< got bytes in this round: `on_pause` is due
};

struct EasyDeleter {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};

using Easy = std::unique_ptr<CURL, EasyDeleter>;

struct SlistDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

struct Exchange {
  Exchange(ExchangeContext& context_, HttpRequest request_, std::unique_ptr<HttpSink> sink_)
      : context(context_), request(std::move(request_)), sink(std::move(sink_)), body(request.body) {}

  ExchangeContext& context;
  std::uint64_t ticket = 0;
  HttpRequest request;
  std::unique_ptr<HttpSink> sink;  ///< null once its end was told
  CallbackGate gate;

  Easy easy;
  std::size_t lane = 0;  ///< of the loop, once it was added
  std::unique_ptr<curl_slist, SlistDeleter> header_list;
  BodyReader body;
  HttpHead head;
  bool head_told = false;
  std::size_t head_bytes = 0;
  std::uint64_t reply_bytes = 0;
  bool connected = false;          ///< the next thing libcurl does is to send the request
  std::string dial_refusal = {};   ///< why an address was not dialled; empty: none was refused
  int no_socket = 0;               ///< the errno why there was none; 0: there was
  bool delivering = false;         ///< is in `context.delivered`
  std::optional<HttpEnd> verdict;  ///< decided by us, whatever libcurl makes of it
  Deadlines::Time first_byte_deadline = Deadlines::Time::max();
  Deadlines::Time total_deadline = Deadlines::Time::max();
  Deadlines::Slot deadline;
  char error_text[CURL_ERROR_SIZE] = {};

  /// Fills the easy handle for this request and starts its deadlines. False: `verdict` says why not.
  bool prepare(Easy handle);
  /// Gives the handle back, without a trace of this request.
  Easy release();
  /// How it ended, libcurl having said `code`.
  HttpEnd end(CURLcode code);
  std::string failure_text(CURLcode code) const;
  /// Whether the other side may have seen something of the request.
  bool may_have_left() const;
  /// Tells the end, once, unless the call was cancelled.
  void tell(const HttpEnd& end);
  /// How it ended by its deadline.
  HttpEnd time_out() const;
  /// Sets the deadline of the phase it is in; the whole call's is kept as well.
  void set_deadline(Deadlines::Time at);
};

/// A handle with everything set that is the same for all requests.
Easy make_easy(ExchangeContext& context);

}  // namespace ratchet
