#pragma once
// A service that acts: it lives in the test's process, so it survives every crash of the node, and counts
// what was really done. `POST /act` has an effect; one that carries an Idempotency-Key it has seen is
// answered from memory, unless the path is `/act/forgetful`. `GET /status/<key>` tells the truth: 200 with
// the result, or 404. What each request to act carried is kept too.

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tests/fakes/http_service.hpp"

namespace ratchet::fakes {

class EffectServer {
 public:
  /// A request to act, in the order in which they came.
  struct Request : HttpService::Request {
    bool acted = false;  ///< or it was answered from memory
  };

  int port() const { return service_.port(); }

  /// How often each key has had its effect.
  std::map<std::string, int> effects() const {
    const std::lock_guard lock(mutex_);
    return effects_;
  }

  std::vector<Request> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  std::string handle(const HttpService::Request& asked) {
    const std::lock_guard lock(mutex_);
    if (asked.method == "GET") {
      const std::string key = unescaped(asked.path.substr(asked.path.find_last_of('/') + 1));
      return effects_.contains(key) ? HttpService::answer(200, "done")
                                    : HttpService::answer(404, "never seen");
    }
    Request request{asked};
    const bool forgetful = request.path.starts_with("/act/forgetful");
    // Without a key the path names the effect, so that the test can ask what became of it.
    const std::string key = request.key.empty() ? request.path : request.key;
    request.acted = forgetful || !effects_.contains(key);
    if (request.acted) ++effects_[key];
    requests_.push_back(std::move(request));
    return HttpService::answer(200, "done");
  }

  static std::string unescaped(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '%') {
        out += text[i];
        continue;
      }
      out += static_cast<char>(std::strtol(text.substr(i + 1, 2).c_str(), nullptr, 16));
      i += 2;
    }
    return out;
  }

  mutable std::mutex mutex_;
  std::map<std::string, int> effects_;
  std::vector<Request> requests_;
  HttpService service_{[this](const HttpService::Request& request) { return handle(request); }};
};

}  // namespace ratchet::fakes
