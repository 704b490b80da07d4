#pragma once
// The request target: a path of segments and a query of parameters (RFC 3986, and form encoding for the
// query as browsers do it).

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/result.hpp"

namespace ratchet {

/// The parameters of a query, decoded, in order.
class Query {
 public:
  void add(std::string name, std::string value) {
    parameters_.emplace_back(std::move(name), std::move(value));
  }

  std::optional<std::string_view> get(std::string_view name) const;

  const std::vector<std::pair<std::string, std::string>>& all() const { return parameters_; }

 private:
  std::vector<std::pair<std::string, std::string>> parameters_;
};

struct Target {
  std::string path;                   ///< as it came, for messages
  std::vector<std::string> segments;  ///< of the path, decoded
  Query query;
};

/// Errors: invalid_request, for a target that is no absolute path, a broken escape, decoded bytes that are
/// no UTF-8 or are control characters, or a parameter given twice.
Result<Target> parse_target(std::string_view target);

}  // namespace ratchet
