// The transport over TLS against Node: certificates are checked, HTTP/2 is used where it is offered.

#include <gmock/gmock.h>

#include "http/client/transport.hpp"
#include "tests/http/client_recorder.hpp"
#include "tests/peers/certificate.hpp"
#include "tests/peers/node_process.hpp"

namespace ratchet {
namespace {

using testing::StartsWith;
using tests::Record;
using Kind = HttpEnd::Kind;

class TlsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!tests::find_node()) GTEST_SKIP() << "there is no Node of version 20.15 or later";
  }

  tests::NodeProcess serve(const tests::Certificate& certificate) {
    return tests::NodeProcess({"tls_server.mjs", certificate.file(), certificate.key_file()});
  }

  static std::shared_ptr<Record> start(Transport& transport, const std::string& url, bool repeatable = true) {
    HttpRequest request;
    request.url = url;
    request.body = tests::body_of({std::string(100'000, 'x')});
    request.repeatable = repeatable;
    auto record = std::make_shared<Record>();
    transport.start(std::move(request), std::make_unique<tests::RecordingSink>(record));
    return record;
  }

  static TransportOptions trusting(const tests::Certificate& certificate) {
    TransportOptions options;
    options.ca_file = certificate.file();
    return options;
  }
};

TEST_F(TlsTest, SharesOneConnectionOfHttp2) {
  const tests::Certificate certificate("localhost");
  const auto server = serve(certificate);
  Transport transport(trusting(certificate));
  std::vector<std::shared_ptr<Record>> records;
  for (int i = 0; i < 50; ++i)
    records.push_back(start(transport, server.url()));
  for (const auto& record : records) {
    const auto seen = record->await_end();
    EXPECT_EQ(seen.end->kind, Kind::complete) << seen.end->text;
    EXPECT_EQ(seen.body, "HTTP/2.0 100000 1");
  }
}

TEST_F(TlsTest, GivesACallThatMustNotBeRepeatedAConnectionOfItsOwn) {
  const tests::Certificate certificate("localhost");
  const auto server = serve(certificate);
  Transport transport(trusting(certificate));
  EXPECT_EQ(start(transport, server.url())->await_end().body, "HTTP/2.0 100000 1");
  EXPECT_EQ(start(transport, server.url(), false)->await_end().body, "HTTP/1.1 100000 2");
}

TEST_F(TlsTest, SendsNothingToAServerItDoesNotTrust) {
  const tests::Certificate certificate("localhost"), other("localhost.example"), wrong_host("elsewhere");
  const auto server = serve(certificate), server_of_wrong_host = serve(wrong_host);
  const auto refused = [](TransportOptions options, const std::string& url) {
    Transport transport(std::move(options));
    const auto seen = start(transport, url)->await_end();
    EXPECT_EQ(seen.end->kind, Kind::distrusted) << seen.end->text;
    EXPECT_FALSE(seen.end->may_have_left);
  };
  refused({}, server.url());
  refused(trusting(other), server.url());
  refused(trusting(wrong_host), server_of_wrong_host.url());
}

}  // namespace
}  // namespace ratchet
