#pragma once
// Checks answers against the API's description: a validator of the part of JSON Schema that the description
// uses, and the way from a request to the schema of its answer.

#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

namespace ratchet::testing {

class ApiDescription {
 public:
  /// `document` is OpenAPI 3.1 as JSON.
  explicit ApiDescription(std::string_view document);

  /// What is wrong with an answer to this request; empty: nothing. Beyond JSON Schema, a field that is not
  /// described is a mistake, unless the schema says `additionalProperties: true`.
  std::vector<std::string> check_answer(std::string_view method,
                                        std::string_view target,
                                        int status,
                                        std::string_view content_type,
                                        std::string_view body) const;
  std::vector<std::string> check(const boost::json::value& value, std::string_view schema_name) const;

  /// "GET /v1/runs/{run_id}", sorted.
  std::vector<std::string> operations() const;

  const boost::json::value& document() const { return document_; }

 private:
  boost::json::value document_;
};

}  // namespace ratchet::testing
