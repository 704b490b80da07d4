#pragma once
// A service over a journal in memory and a node that does what the test says. Every answer that a test reads
// through `ask` is checked against the API's description.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>
#include <gtest/gtest.h>

#include "http/catalog.hpp"
#include "http/identity/users.hpp"
#include "http/metrics.hpp"
#include "http/service.hpp"
#include "store/memory_journal.hpp"
#include "tests/fakes/node.hpp"
#include "tests/http/api_schema.hpp"
#include "tests/http/raw_client.hpp"

namespace ratchet::testing {

/// An answer with its body read.
struct Reply {
  int status = 0;
  boost::json::value json;
  Answer raw;

  /// A member of the body, by JSON pointer without the first slash; its text if it is one, JSON otherwise.
  std::string text(std::string_view path) const;

  /// The code of a problem.
  std::string code() const { return text("code"); }
};

class ApiTest : public ::testing::Test {
 protected:
  ApiTest();
  ~ApiTest() override;

  /// Before the first request: changes what the service is given.
  ServiceOptions options;
  void start();

  /// What a service of this test works with, over this journal.
  ServiceParts parts(Journal& of) { return {node, feed, of, clock, catalog, metrics, *users}; }

  using HeaderList = std::vector<std::pair<std::string, std::string>>;
  Reply ask(std::string_view method,
            std::string_view target,
            std::string_view body = {},
            HeaderList headers = {});

  Reply get(std::string_view target, HeaderList headers = {}) {
    return ask("GET", target, {}, std::move(headers));
  }

  Reply post(std::string_view target, std::string_view body = {}, HeaderList headers = {}) {
    return ask("POST", target, body, std::move(headers));
  }

  /// Registers the agent `support` of the team `default`.
  void register_agent();
  /// Starts a run of it.
  RunId start_run(std::string_view more = "");
  /// Lets the run ask a person about one call, the approval `approval_id(n)`.
  void ask_person(const RunId& run, std::uint8_t n, std::string args = R"({"amount":5})");
  static ApprovalId approval_id(std::uint8_t n);
  std::uint16_t port();

  /// Asks a service that the test has started itself.
  void serve_on(std::uint16_t port) { port_ = port; }

  const ApiDescription& description();

  FakeClock clock;
  MemoryJournal journal;
  FakeFeed feed;
  StoredCatalog catalog;
  FakeNode node;
  Metrics metrics;
  DevUsers dev_users;
  Users* users = &dev_users;
  std::unique_ptr<Service> service;

 private:
  std::uint16_t port_ = 0;
};

/// A definition of `support`.
std::string agent_json(std::string_view more = "");
/// A manifest of an HTTP tool without side effects.
std::string tool_json(std::string_view name, std::string_view description = "Looks things up.");

/// Payloads of one whole step without calls.
ModelRequested asked(std::uint32_t attempt = 1);
ModelCompleted replied(std::string text);

}  // namespace ratchet::testing
