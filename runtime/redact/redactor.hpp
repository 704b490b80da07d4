#pragma once
// The choke point: whatever leaves the process for somebody who may not see exact bytes goes through one of
// these. Secrets are told by the form of the value (rules_file.hpp) and by the name of the key that a JSON
// value stands under; in their place stands `[redacted:RULE]`, `[redacted:key]` for the latter.
//
// A text without one of the rules' keywords is not looked at again: one pass, 1.3 ns a byte. The JSON of a
// step has one (`input_tokens`), so that its strings are looked at one by one: 3 ns a byte (bench/README.md).

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/redact/rules_file.hpp"
#include "runtime/result.hpp"

namespace ratchet {

/// Immutable; used from any thread.
class Redactor {
 public:
  /// A secret in a text.
  struct Found {
    std::size_t begin = 0, end = 0;
    std::size_t match_begin = 0;  ///< of what the rule told it by, `password=` before it for one
    std::string_view rule;        ///< lives as long as the redactor
  };

  /// Whether values in JSON are hidden by the names of their keys too.
  enum class Keys { shown, hidden };

  /// Errors: invalid_request, for a regular expression that RE2 does not take, with the rule's id.
  static Result<std::shared_ptr<const Redactor>> make(const RedactionRules& rules);
  /// One with our own rules; the same each time.
  static std::shared_ptr<const Redactor> standard();

  ~Redactor();
  Redactor(const Redactor&) = delete;
  Redactor& operator=(const Redactor&) = delete;

  // Each gives the text without its secrets, or nothing where there are none and it can be shown as it is.

  std::optional<std::string> text(std::string_view text) const;
  /// Of a JSON text: secrets in the strings, keys too, however they are escaped. All else stays as it
  /// stands, byte by byte. What is no JSON is treated as a text.
  std::optional<std::string> json(std::string_view json, Keys keys = Keys::hidden) const;
  /// Of a text whose offsets have a meaning: as many bytes as before.
  std::optional<std::string> masked(std::string_view text) const;

  /// In ascending order, without overlap.
  std::vector<Found> find(std::string_view text) const;
  /// Whether there is anything to look for: false, if `find` and `keywords` have nothing.
  bool may_have(std::string_view text) const;
  /// Where keywords of rules begin.
  std::vector<std::size_t> keywords(std::string_view text) const;
  /// How many bytes at the end of the text may become a keyword.
  std::size_t unfinished_bytes(std::string_view text) const;

  /// How far behind its keyword the end of a secret may lie, apart from those of one long word.
  static constexpr std::size_t reach_bytes = 256;

 private:
  struct Rules;

  explicit Redactor(std::unique_ptr<const Rules> rules);
  /// The first look at a JSON text: false, if there is nothing in it to hide.
  bool may_hide(std::string_view json, Keys keys) const;

  std::unique_ptr<const Rules> rules_;
};

/// Whether what stands under a key of this name is hidden: `password`, `X-Api-Key`, `github_token` …
bool is_secret_key(std::string_view key);

/// `[redacted:RULE]`
std::string redaction_mark(std::string_view rule);

}  // namespace ratchet
