#include "http/service.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "http/auth.hpp"
#include "http/config/listen.hpp"
#include "http/identity/users.hpp"
#include "http/metrics.hpp"
#include "http/openapi.hpp"
#include "http/problem.hpp"
#include "http/routes/route.hpp"
#include "http/server/event_stream.hpp"
#include "http/server/server.hpp"
#include "http/server/workers.hpp"
#include "http/shown.hpp"
#include "runtime/ids.hpp"

namespace ratchet {

namespace {

constexpr std::size_t workers_count = 2;
constexpr std::size_t request_id_bytes_max = 64;

/// The client's own id, if it is a sane one, so that both sides' logs can be laid together.
std::optional<std::string> given_request_id(const Request& request) {
  const auto id = request.header("X-Request-Id");
  if (!id || id->empty() || id->size() > request_id_bytes_max) return std::nullopt;
  const bool sane = std::all_of(id->begin(), id->end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
  });
  return sane ? std::optional(std::string(*id)) : std::nullopt;
}

}  // namespace

class Service::Impl {
 public:
  Impl(ServiceParts parts, ServiceOptions options)
      : options_(std::move(options)),
        clock_(parts.clock),
        metrics_(parts.metrics),
        clients_(options_.keys),
        workers_(workers_count, limits::requests_waiting_max),
        events_{parts.feed, parts.journal, workers_, counters_},
        node_(parts.node),
        journal_(parts.journal),
        catalog_(parts.catalog),
        users_(parts.users) {}

  ~Impl() { stop(); }

  Result<std::uint16_t> start() {
    const auto listen = parse_listen(options_.listen);
    if (!listen) return tl::unexpected(listen.error());
    if (!listen->loopback && (options_.dev || options_.keys.empty()))
      return fail(ErrorCode::invalid_request,
                  fmt::format("a server without keys listens on loopback only, not on {}", options_.listen));
    openapi_json();  // converted now rather than in the first request
    server_ = std::make_unique<Server>(
        ServerOptions{.address = listen->host,
                      .port = listen->port,
                      .request_bytes_max = static_cast<std::size_t>(options_.request_bytes_max),
                      .descriptors = options_.descriptors,
                      .on_error = [this](ErrorCode code,
                                         std::string text) { return refused(Error{code, std::move(text)}); }},
        [this](Request request, Respond respond) { handle(std::move(request), std::move(respond)); });
    api_.emplace(Api{.node = node_,
                     .journal = journal_,
                     .clock = clock_,
                     .catalog = catalog_,
                     .workers = workers_,
                     .events = events_,
                     .metrics = metrics_,
                     .server = *server_,
                     .draining = draining_,
                     .users = users_,
                     .redactor = options_.redactor});
    return server_->start();
  }

  void drain() {
    draining_ = true;
    if (server_) server_->drain();
  }

  void stop() {
    draining_ = true;
    users_.stop();
    if (server_) server_->stop();
    workers_.stop();
  }

 private:
  /// What is known of a request from its first moment to its answer.
  struct Track {
    std::string request_id, method, target, remote;
    std::string_view route;
    Sight sight = Sight::all;  ///< until it is known who asks
    std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  };

  /// On the server's thread.
  void handle(Request request, Respond respond) {
    auto track = std::make_shared<Track>();
    track->request_id = given_request_id(request).value_or("");
    if (track->request_id.empty()) track->request_id = make_request_id();
    track->method = request.method;
    track->target = request.target;
    track->remote = request.remote;
    Done done = [this, track, respond = std::move(respond)](Result<Response> answer) {
      respond(finish(*track, answer ? std::move(*answer) : problem(answer.error(), track->request_id)));
    };
    if (auto dispatched = dispatch(std::move(request), *track, done); !dispatched)
      done(tl::unexpected(dispatched.error()));
  }

  /// Finds the route, checks who is calling, and lets a worker answer. An error is still to be answered.
  Result<void> dispatch(Request request, Track& track, const Done& done) {
    auto target = parse_target(request.target);
    if (!target) return tl::unexpected(target.error());
    if (options_.dev)
      if (auto local = check_local(request); !local) return local;
    auto found = find_route(request.method, *target);
    if (!found) return tl::unexpected(found.error());
    if (const auto* others = std::get_if<OtherMethods>(&*found)) {
      refuse_method(request, *others, track, done);
      return {};
    }
    auto& [route, ids] = std::get<Match>(*found);
    track.route = route->pattern;
    auto client = admit(request, *route);
    if (!client) return tl::unexpected(client.error());
    track.sight = sight_of(*client, *route);
    if (auto known = check_parameters(*route, target->query); !known) return known;
    if (!route->handle)
      return fail(ErrorCode::not_supported,
                  fmt::format("{} {} is not part of this version", request.method, route->pattern));
    auto call = std::make_shared<const Call>(
        Call{std::move(request), std::move(*target), std::move(ids), std::move(*client), track.request_id});
    run(*route, std::move(call), done);
    return {};
  }

  /// Open routes read no journal: they are answered at once, however long the workers' queue is.
  void run(const Route& route, std::shared_ptr<const Call> call, const Done& done) {
    const auto task = [this, handle = route.handle, call = std::move(call), done] {
      try {
        handle(*api_, call, done);
      } catch (const std::exception& error) {
        spdlog::error("request {} failed: {}", call->request_id, error.what());
        done(fail(ErrorCode::internal_error, "the request failed; the log knows more"));
      }
    };
    if (!route.roles) return task();
    if (!workers_.post(task))
      done(fail(ErrorCode::too_many_requests, "too many requests wait for an answer"));
  }

  /// Errors: unauthenticated, forbidden.
  Result<Client> admit(const Request& request, const Route& route) const {
    if (!route.roles) return Client{};
    auto client = options_.dev ? Result<Client>(dev_client()) : clients_.find(request);
    if (!client || std::ranges::any_of(route.roles->any, [&](Role role) { return client->may(role); }))
      return client;
    std::string wanted;
    for (const Role role : route.roles->any)
      wanted.append(wanted.empty() ? "" : " or ").append(name(role));
    return fail(ErrorCode::forbidden, fmt::format("key '{}' does not have the role {}", client->id, wanted));
  }

  void refuse_method(const Request& request,
                     const OtherMethods& others,
                     const Track& track,
                     const Done& done) {
    auto response =
        problem({ErrorCode::method_not_allowed,
                 fmt::format("{} takes {}, not {}", request.target, others.allowed, request.method)},
                track.request_id);
    response.headers.emplace_back("Allow", others.allowed);
    done(std::move(response));
  }

  /// What may be shown of an answer; its headers, metrics and log.
  Response finish(const Track& track, Response answer) {
    auto response = shown(std::move(answer), track.sight, *options_.redactor);
    response.headers.emplace_back("X-Request-Id", track.request_id);
    response.headers.emplace_back("Cache-Control", "no-store");
    response.headers.emplace_back("X-Content-Type-Options", "nosniff");
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - track.began;
    // What no route takes is not a label: its methods are the client's invention.
    metrics_.on_request(track.route.empty() ? "" : track.method, track.route, response.status, took.count());
    // The path only: a query may hold what somebody does not want in a log.
    spdlog::debug("{} {} {} {} {:.1f} ms, request {}",
                  track.remote,
                  track.method,
                  std::string_view(track.target).substr(0, track.target.find('?')),
                  response.status,
                  took.count() * 1e3,
                  track.request_id);
    return response;
  }

  /// The answer to what never became a request.
  Response refused(const Error& error) {
    Track track;
    track.request_id = make_request_id();
    return finish(track, problem(error, track.request_id));
  }

  std::string make_request_id() {
    Stamp stamp{clock_.now(), system_entropy()};
    return "req_" + to_string(make_ulid(stamp));
  }

  const ServiceOptions options_;
  Clock& clock_;
  Metrics& metrics_;
  const Clients clients_;
  std::atomic<bool> draining_ = false;
  StreamCounters counters_;
  Workers workers_;
  EventSources events_;
  Node& node_;
  Journal& journal_;
  StoredCatalog& catalog_;
  Users& users_;
  std::unique_ptr<Server> server_;
  std::optional<Api> api_;
};

Service::Service(ServiceParts parts, ServiceOptions options)
    : impl_(std::make_unique<Impl>(parts, std::move(options))) {}

Service::~Service() = default;

Result<std::uint16_t> Service::start() {
  return impl_->start();
}

void Service::drain() {
  impl_->drain();
}

void Service::stop() {
  impl_->stop();
}

}  // namespace ratchet
