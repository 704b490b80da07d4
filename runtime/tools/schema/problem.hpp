#pragma once
// What is wrong with a schema, and where. The compiler knows places by their address: a pointer is only
// spelled out for the one that is told.

#include <optional>
#include <string>

#include <boost/json/value.hpp>

#include "runtime/result.hpp"

namespace ratchet::schema {

/// The first problem of a document.
class Problem {
 public:
  void set(const boost::json::value& at, ErrorCode code, std::string text);

  explicit operator bool() const { return at_ != nullptr; }

  /// As an error with a pointer into `document`.
  Error error(const boost::json::value& document) const;

 private:
  const boost::json::value* at_ = nullptr;
  ErrorCode code_ = ErrorCode::invalid_definition;
  std::string text_;
};

}  // namespace ratchet::schema
