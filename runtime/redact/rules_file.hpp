#pragma once
// Rules that tell secrets, in the form of gitleaks' configuration files (version 8), so that one of those can
// be taken as it is.
//
//   [[rules]]
//   id = "acme-token"
//   regex = '''\bacme_[a-z0-9]{32}\b'''      # RE2
//   secretGroup = 1                          # what of it is the secret; else the first group that took part
//   entropy = 3.0                            # Shannon, bits a byte; below: no secret
//   keywords = ["acme_"]                     # one of them occurs, in any case, where the regex can match
//   [[rules.allowlists]]
//   condition = "AND"                        # OR
//   regexTarget = "match"                    # secret; line
//   regexes = ['''EXAMPLE$''']
//   stopwords = ["example"]
//
// `[allowlist]` and `[[allowlists]]` at the top are for all rules. `[extend] useDefault = true` adds our own
// rules, but those in `disabledRules`. Paths and commits have no meaning here: rules of paths alone are left
// out, and an allowlist that needs one allows nothing.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/enums.hpp"
#include "runtime/result.hpp"

namespace ratchet {

RATCHET_ENUM(AllowTarget, secret, match, line)

struct RedactionAllowance {
  std::vector<std::string> regexes;
  std::vector<std::string> stopwords;  ///< lower case, anywhere in the secret
  AllowTarget target = AllowTarget::secret;
  bool all = false;  ///< regexes and stopwords both have to match, where both are given
};

struct RedactionRule {
  std::string id;
  std::string regex;
  std::size_t secret_group = 0;  ///< 0: the first group that took part, or all of it
  double entropy = 0;            ///< 0: not asked for
  std::vector<std::string> keywords;
  std::vector<RedactionAllowance> allowances;
};

struct RedactionRules {
  std::vector<RedactionRule> rules;
  std::vector<RedactionAllowance> allowances;  ///< for all rules
};

/// Bounded by limits::redact_rules_bytes_max and redact_rules_max. That the regular expressions compile is
/// found out by Redactor::make. Errors: invalid_request, unknown_field, not_supported; each names the place.
Result<RedactionRules> parse_redaction_rules(std::string_view toml);

/// Our own rules as such a file.
std::string_view curated_rules();

}  // namespace ratchet
