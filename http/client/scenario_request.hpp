#pragma once
// What a scripted model reads in its request: the input, artifacts, and what the tools have answered. Both
// forms of a request are understood.

#include <string>
#include <string_view>

#include "runtime/model/client.hpp"
#include "runtime/result.hpp"

namespace ratchet {

class ScenarioRequest {
 public:
  explicit ScenarioRequest(const Body& body);

  std::size_t bytes() const { return body_.size(); }

  /// The text of the first message of a user. Errors: invalid_json.
  Result<std::string> input();
  /// What the tools answered the last time they were called, a line between the answers; empty: nothing yet.
  /// Errors: invalid_json.
  Result<std::string> last_result();
  /// `text` with its placeholders filled. Errors: invalid_request, where the request does not hold what one
  /// asks for; invalid_json.
  Result<std::string> fill(std::string_view text);

 private:
  Result<void> read();
  Result<std::string> value_of(std::string_view placeholder);

  std::string body_;
  bool was_read_ = false;
  std::string input_, last_result_;
};

/// Why the placeholders of a text can never be filled; empty: they can.
std::string placeholder_mistake(std::string_view text);

/// Whether the text is nothing but one placeholder that stands for a number.
bool is_number_placeholder(std::string_view text);

}  // namespace ratchet
