#pragma once
// A model that is honest and no cleverer than a note-taker: it answers from what stands in its request and
// from nothing else, by looking for sentences of the form "The <what> of <whom> is <value>." Asked for a
// hand-over note it writes down the sentences that it finds, but for every n-th one where it is told to
// forget.

#include <string>

#include "tests/fakes/http_service.hpp"

namespace ratchet::evaluation {

class FactModel {
 public:
  /// `forgets_every` n: it leaves the n-th, 2n-th, … fact out of a note; 0: none.
  explicit FactModel(int forgets_every = 0) : forgets_every_(forgets_every) {}

  /// For the provider's `base_url`, protocol openai.
  std::string url() const { return "http://127.0.0.1:" + std::to_string(service_.port()); }

 private:
  std::string reply(const fakes::HttpService::Request& request) const;

  int forgets_every_;
  fakes::HttpService service_{[this](const fakes::HttpService::Request& request) { return reply(request); }};
};

}  // namespace ratchet::evaluation
