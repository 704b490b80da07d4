#pragma once
// A text that arrives in pieces, without its secrets: what could still become part of one is held back until
// more is known.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/redact/redactor.hpp"

namespace ratchet {

/// For one text, from its beginning. Not shared between threads.
class StreamRedactor {
 public:
  explicit StreamRedactor(std::shared_ptr<const Redactor> redactor) : redactor_(std::move(redactor)) {}

  /// What can be shown now: up to the last word that has ended, but no keyword and no secret that may go on.
  /// At most limits::redact_held_bytes_max are held; a word that is longer is shown up to there, redacted.
  std::string feed(std::string_view piece);
  /// The rest; the text is over.
  std::string finish();

  /// How long all is that was shown.
  std::size_t shown_bytes() const { return shown_bytes_; }

 private:
  std::string show(std::size_t end);

  std::shared_ptr<const Redactor> redactor_;
  std::string held_;
  std::size_t kept_ = 0;  ///< bytes at its beginning that were shown; they only tell what goes on
  std::size_t shown_bytes_ = 0;
};

}  // namespace ratchet
