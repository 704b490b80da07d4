#include "runtime/redact/redactor.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <re2/re2.h>

#include "runtime/limits.hpp"
#include "runtime/redact/keyword_filter.hpp"

namespace ratchet {

namespace {

using re2::RE2;
using re2::StringPiece;

struct Allowance {
  std::vector<std::unique_ptr<RE2>> regexes;
  std::vector<std::string> stopwords;
  AllowTarget target;
  bool all;

  bool allows(std::string_view secret, std::string_view match, std::string_view line) const {
    const auto text = target == AllowTarget::secret ? secret : target == AllowTarget::match ? match : line;
    const bool by_regex = std::any_of(regexes.begin(), regexes.end(), [&](const auto& regex) {
      return RE2::PartialMatch(StringPiece(text.data(), text.size()), *regex);
    });
    std::string lower(secret);
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) {
      return static_cast<char>(c < 0x80 ? std::tolower(c) : c);
    });
    const bool by_word = std::any_of(stopwords.begin(), stopwords.end(), [&](const std::string& word) {
      return lower.find(word) != std::string::npos;
    });
    return all ? (by_regex || regexes.empty()) && (by_word || stopwords.empty()) : by_regex || by_word;
  }
};

struct Rule {
  std::string id;
  std::unique_ptr<RE2> regex;
  std::size_t group;
  double entropy;
  std::vector<Allowance> allowances;
};

Result<std::unique_ptr<RE2>> compile(const std::string& regex, const std::string& of) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(limits::redact_regex_memory_max);
  options.set_encoding(RE2::Options::EncodingLatin1);  // bytes: what leaves need not be UTF-8
  auto compiled = std::make_unique<RE2>(regex, options);
  if (compiled->ok()) return compiled;
  return fail(ErrorCode::invalid_request,
              fmt::format("redaction rule {}: RE2 does not take its regex: {}", of, compiled->error()));
}

Result<std::vector<Allowance>> compile(const std::vector<RedactionAllowance>& allowances,
                                       const std::string& of) {
  std::vector<Allowance> out;
  for (const auto& given : allowances) {
    Allowance allowance{{}, given.stopwords, given.target, given.all};
    for (const auto& regex : given.regexes) {
      auto compiled = compile(regex, of);
      if (!compiled) return tl::unexpected(compiled.error());
      allowance.regexes.push_back(std::move(*compiled));
    }
    out.push_back(std::move(allowance));
  }
  return out;
}

/// Shannon's, in bits a byte.
double entropy_of(std::string_view text) {
  std::array<std::size_t, 256> counts{};
  for (const char c : text)
    ++counts[static_cast<unsigned char>(c)];
  double entropy = 0;
  for (const std::size_t count : counts) {
    if (count == 0) continue;
    const double share = static_cast<double>(count) / static_cast<double>(text.size());
    entropy -= share * std::log2(share);
  }
  return entropy;
}

/// Keys whose normal form ends with one of these: lower case, letters and digits only.
constexpr std::string_view secret_endings[] = {"authorization",
                                               "password",
                                               "passwd",
                                               "passphrase",
                                               "apikey",
                                               "accesskey",
                                               "secretkey",
                                               "privatekey",
                                               "token",
                                               "secret",
                                               "cookie",
                                               "credentials"};
/// One of these stands in every JSON text that has such a key.
constexpr std::string_view key_keywords[] = {"authorization",
                                             "password",
                                             "passwd",
                                             "passphrase",
                                             "apikey",
                                             "api_key",
                                             "api-key",
                                             "api key",
                                             "api.key",
                                             "accesskey",
                                             "access_key",
                                             "access-key",
                                             "secret",
                                             "privatekey",
                                             "private_key",
                                             "private-key",
                                             "token\"",
                                             "cookie",
                                             "credentials"};

std::string_view line_around(std::string_view text, std::size_t begin, std::size_t end) {
  const auto before = begin == 0 ? std::string_view::npos : text.rfind('\n', begin - 1);
  const std::size_t from = before == std::string_view::npos ? 0 : before + 1;
  return text.substr(from, std::min(text.find('\n', end), text.size()) - from);
}

/// The first group that took part in the match; 0, all of it, if none did.
std::size_t first_group(const std::vector<StringPiece>& parts) {
  for (std::size_t group = 1; group < parts.size(); ++group)
    if (!parts[group].empty()) return group;
  return 0;
}

}  // namespace

struct Redactor::Rules {
  std::vector<Rule> rules;
  std::vector<Allowance> allowances;
  std::vector<std::size_t> always;      ///< rules without keywords
  std::vector<std::size_t> keyword_of;  ///< the rule of each keyword
  std::unique_ptr<KeywordFilter> filter;
  std::unique_ptr<KeywordFilter> json_filter;  ///< of the rules' keywords, and of what names of keys have

  bool is_secret(const Rule& rule,
                 std::string_view text,
                 std::string_view match,
                 std::string_view secret) const {
    if (secret.empty() || (rule.entropy > 0 && entropy_of(secret) < rule.entropy)) return false;
    const auto at = static_cast<std::size_t>(match.data() - text.data());
    const auto line = line_around(text, at, at + match.size());
    const auto allows = [&](const Allowance& allowance) { return allowance.allows(secret, match, line); };
    return std::none_of(rule.allowances.begin(), rule.allowances.end(), allows) &&
           std::none_of(allowances.begin(), allowances.end(), allows);
  }

  void find(const Rule& rule, std::string_view text, std::vector<Found>& out) const {
    const int groups = rule.regex->NumberOfCapturingGroups();
    std::vector<StringPiece> parts(static_cast<std::size_t>(groups) + 1);
    std::size_t from = 0;
    while (from <= text.size() &&
           rule.regex->Match(
               {text.data(), text.size()}, from, text.size(), RE2::UNANCHORED, parts.data(), groups + 1)) {
      const auto group = rule.group != 0 ? rule.group : first_group(parts);
      const std::string_view match(parts[0].data(), parts[0].size());
      const std::string_view secret(parts[group].data(), parts[group].size());
      if (is_secret(rule, text, match, secret)) {
        const auto begin = static_cast<std::size_t>(secret.data() - text.data());
        out.push_back(
            {begin, begin + secret.size(), static_cast<std::size_t>(match.data() - text.data()), rule.id});
      }
      from = static_cast<std::size_t>(match.data() - text.data()) + std::max<std::size_t>(match.size(), 1);
    }
  }
};

Redactor::Redactor(std::unique_ptr<const Rules> rules) : rules_(std::move(rules)) {}

Redactor::~Redactor() = default;

Result<std::shared_ptr<const Redactor>> Redactor::make(const RedactionRules& given) {
  auto rules = std::make_unique<Rules>();
  std::vector<std::string> keywords;
  for (const RedactionRule& rule : given.rules) {
    auto regex = compile(rule.regex, rule.id);
    if (!regex) return tl::unexpected(regex.error());
    auto allowances = compile(rule.allowances, rule.id);
    if (!allowances) return tl::unexpected(allowances.error());
    if (rule.secret_group > static_cast<std::size_t>((*regex)->NumberOfCapturingGroups()))
      return fail(ErrorCode::invalid_request,
                  fmt::format("redaction rule {}: its regex has no group {}", rule.id, rule.secret_group));
    if (rule.keywords.empty()) rules->always.push_back(rules->rules.size());
    for (const auto& keyword : rule.keywords) {
      keywords.push_back(keyword);
      rules->keyword_of.push_back(rules->rules.size());
    }
    rules->rules.push_back(
        {rule.id, std::move(*regex), rule.secret_group, rule.entropy, std::move(*allowances)});
  }
  auto allowances = compile(given.allowances, "allowlist");
  if (!allowances) return tl::unexpected(allowances.error());
  rules->allowances = std::move(*allowances);
  rules->filter = std::make_unique<KeywordFilter>(keywords);
  keywords.insert(keywords.end(), std::begin(key_keywords), std::end(key_keywords));
  rules->json_filter = std::make_unique<KeywordFilter>(keywords);
  return std::shared_ptr<const Redactor>(new Redactor(std::move(rules)));
}

std::shared_ptr<const Redactor> Redactor::standard() {
  static const std::shared_ptr<const Redactor> ours = [] {
    const auto rules = parse_redaction_rules(curated_rules());
    RATCHET_ENSURE(rules.has_value(), "our own redaction rules do not parse");
    auto made = make(*rules);
    RATCHET_ENSURE(made.has_value(), "our own redaction rules do not compile");
    return *made;
  }();
  return ours;
}

std::vector<Redactor::Found> Redactor::find(std::string_view text) const {
  std::vector<Found> found;
  const auto hits = rules_->filter->hits(text);
  if (hits.empty() && rules_->always.empty()) return found;
  std::vector<bool> may_match(rules_->rules.size());
  for (const std::size_t rule : rules_->always)
    may_match[rule] = true;
  for (const auto& hit : hits)
    may_match[rules_->keyword_of[hit.keyword]] = true;
  for (std::size_t i = 0; i < may_match.size(); ++i)
    if (may_match[i]) rules_->find(rules_->rules[i], text, found);
  if (found.size() < 2) return found;
  std::stable_sort(
      found.begin(), found.end(), [](const Found& a, const Found& b) { return a.begin < b.begin; });
  std::vector<Found> merged;
  for (const Found& each : found) {
    if (merged.empty() || each.begin >= merged.back().end) {
      merged.push_back(each);
      continue;
    }
    merged.back().end = std::max(merged.back().end, each.end);
    merged.back().match_begin = std::min(merged.back().match_begin, each.match_begin);
  }
  return merged;
}

bool Redactor::may_have(std::string_view text) const {
  return !rules_->always.empty() || rules_->filter->any(text);
}

std::vector<std::size_t> Redactor::keywords(std::string_view text) const {
  std::vector<std::size_t> begins;
  for (const auto& hit : rules_->filter->hits(text))
    begins.push_back(hit.begin);
  return begins;
}

std::size_t Redactor::unfinished_bytes(std::string_view text) const {
  return rules_->filter->unfinished_bytes(text);
}

std::optional<std::string> Redactor::text(std::string_view text) const {
  const auto found = find(text);
  if (found.empty()) return std::nullopt;
  std::string out;
  std::size_t at = 0;
  for (const Found& secret : found) {
    out.append(text.substr(at, secret.begin - at)).append(redaction_mark(secret.rule));
    at = secret.end;
  }
  out.append(text.substr(at));
  return out;
}

std::optional<std::string> Redactor::masked(std::string_view text) const {
  const auto found = find(text);
  if (found.empty()) return std::nullopt;
  std::string out(text);
  for (const Found& secret : found) {
    std::string mark = redaction_mark(secret.rule);
    mark.resize(secret.end - secret.begin, '*');
    out.replace(secret.begin, mark.size(), mark);
  }
  return out;
}

bool Redactor::may_hide(std::string_view json, Keys keys) const {
  return !rules_->always.empty() || (keys == Keys::hidden ? rules_->json_filter : rules_->filter)->any(json);
}

bool is_secret_key(std::string_view key) {
  std::string normal;
  for (const char c : key) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) normal += c;
    if (c >= 'A' && c <= 'Z') normal += static_cast<char>(c - 'A' + 'a');
  }
  return std::any_of(std::begin(secret_endings), std::end(secret_endings), [&](std::string_view ending) {
    return normal.ends_with(ending);
  });
}

std::string redaction_mark(std::string_view rule) {
  return fmt::format("[redacted:{}]", rule);
}

}  // namespace ratchet
