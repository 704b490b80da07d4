// The description of the API says what the server does: paths and methods, and the codes in docs/errors.md.

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "http/openapi.hpp"
#include "http/routes/route.hpp"
#include "tests/http/api_fixture.hpp"

namespace ratchet {

namespace {

using testing::ApiTest;

TEST(OpenApi, DescribesExactlyTheRoutes) {
  std::vector<std::string> served;
  for (const Route& route : routes())
    if (route.handle) served.push_back(fmt::format("{} {}", route.method, route.pattern));
  std::sort(served.begin(), served.end());
  EXPECT_EQ(testing::ApiDescription(openapi_json()).operations(), served);
}

TEST(OpenApi, DescribesExactlyTheQueryParameters) {
  const testing::ApiDescription description(openapi_json());
  const auto& document = description.document();
  for (const Route& route : routes()) {
    if (!route.handle) continue;
    std::string method(route.method);
    std::transform(
        method.begin(), method.end(), method.begin(), [](unsigned char c) { return std::tolower(c); });
    const auto& operation = document.at("paths").at(route.pattern).at(method).as_object();
    std::set<std::string> described;
    if (const auto* parameters = operation.if_contains("parameters")) {
      for (const auto& each : parameters->as_array()) {
        const auto* parameter = &each.as_object();
        if (const auto* ref = parameter->if_contains("$ref")) {
          const auto name =
              std::string(ref->as_string()).substr(std::string("#/components/parameters/").size());
          parameter = &document.at("components").at("parameters").at(name).as_object();
        }
        if (parameter->at("in") == "query") described.emplace(parameter->at("name").as_string());
      }
    }
    EXPECT_EQ(described, std::set<std::string>(route.parameters.begin(), route.parameters.end()))
        << route.method << " " << route.pattern;
  }
}

TEST(OpenApi, EachErrorCodeHasItsLine) {
  std::ifstream file(std::string(RATCHET_SOURCE_DIR) + "/docs/errors.md");
  ASSERT_TRUE(file) << "docs/errors.md";
  std::vector<std::string> described;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| `")) continue;
    const auto end = line.find('`', 3);
    const auto status = line.find("| ", end);
    described.push_back(line.substr(3, end - 3) + " " + line.substr(status + 2, 3));
  }
  std::vector<std::string> codes;
#define RATCHET_X(code, status, title) codes.push_back(#code " " #status);
  RATCHET_ERROR_CODES(RATCHET_X)
#undef RATCHET_X
  EXPECT_EQ(described, codes);
}

TEST_F(ApiTest, ServesItsOwnDescription) {
  const auto reply = get("/openapi.json");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.text("openapi"), "3.1.0");
}

}  // namespace

}  // namespace ratchet
