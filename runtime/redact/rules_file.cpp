#include "runtime/redact/rules_file.hpp"

#include <algorithm>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/definition_reader.hpp"
#include "runtime/limits.hpp"
#include "runtime/redact/toml.hpp"

namespace ratchet {

namespace {

constexpr FieldRule file_fields[] = {
    {"title"}, {"description"}, {"minVersion"}, {"extend"}, {"rules"}, {"allowlist"}, {"allowlists"}};
constexpr FieldRule extend_fields[] = {{"useDefault"},
                                       {"disabledRules"},
                                       {"path", "one file extends our own rules only"},
                                       {"url", "files are local"}};
constexpr FieldRule rule_fields[] = {{"id"},
                                     {"description"},
                                     {"regex"},
                                     {"path"},
                                     {"secretGroup"},
                                     {"entropy"},
                                     {"keywords"},
                                     {"tags"},
                                     {"allowlist"},
                                     {"allowlists"},
                                     {"skipReport"},
                                     {"required", "rules that need other rules are not read"}};
constexpr FieldRule allow_fields[] = {{"description"},
                                      {"condition"},
                                      {"regexTarget"},
                                      {"regexes"},
                                      {"stopwords"},
                                      {"paths"},
                                      {"commits"},
                                      {"targetRules", "an allowlist is of one rule, or of all"}};

RATCHET_ENUM(Condition, OR, AND)

constexpr std::size_t text_bytes_max = 16u << 10;

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

class RulesReader {
 public:
  explicit RulesReader(const boost::json::value& file) : fields_(file, "", file_fields, error_) {}

  Result<RedactionRules> read() {
    read_allowances(fields_, "", rules_.allowances);
    for (const auto* value : fields_.array("rules", limits::redact_rules_max))
      rule(*value);
    extend();
    if (error_) return tl::unexpected(Error{error_->code, error_->pointer + ": " + error_->text});
    return std::move(rules_);
  }

 private:
  void rule(const boost::json::value& value) {
    const std::string place = fmt::format("/rules/{}", count_);
    auto fields = fields_.item(value, "rules", count_++, rule_fields);
    RedactionRule rule;
    rule.id = fields.text("id", 1, 100);
    const bool is_word = std::all_of(rule.id.begin(), rule.id.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
    });
    if (!is_word) fields.invalid("id", "an id is of letters, digits, - and _");
    rule.regex = fields.text("regex", 1, text_bytes_max, "");
    rule.secret_group = static_cast<std::size_t>(fields.integer("secretGroup", 0, 99, 0));
    if (const auto entropy = fields.number_text("entropy", 0, 8); !entropy.empty())
      rule.entropy = std::stod(entropy);
    for (auto& keyword : fields.texts("keywords", 1'000, 256))
      rule.keywords.push_back(lower_case(std::move(keyword)));
    read_allowances(fields, place, rule.allowances);
    if (rule.regex.empty() && !fields.has("path")) fields.invalid("", "a rule has a regex");
    if (!rule.regex.empty()) rules_.rules.push_back(std::move(rule));
  }

  /// `allowlist`, a table, and `allowlists`, an array of them.
  void read_allowances(ObjectReader& of, const std::string& place, std::vector<RedactionAllowance>& to) {
    if (const auto* one = of.find("allowlist"))
      allowance({*one, place + "/allowlist", allow_fields, error_}, to);
    std::size_t index = 0;
    for (const auto* value : of.array("allowlists", 1'000))
      allowance({*value, fmt::format("{}/allowlists/{}", place, index++), allow_fields, error_}, to);
  }

  void allowance(ObjectReader fields, std::vector<RedactionAllowance>& to) {
    RedactionAllowance allowance;
    allowance.target = fields.choice<AllowTarget>("regexTarget", AllowTarget::secret);
    allowance.all = fields.choice<Condition>("condition", Condition::OR) == Condition::AND;
    allowance.regexes = fields.texts("regexes", 1'000, text_bytes_max);
    for (auto& word : fields.texts("stopwords", 10'000, 256))
      allowance.stopwords.push_back(lower_case(std::move(word)));
    const bool needs_more = allowance.all && !(fields.texts("paths", 10'000, text_bytes_max).empty() &&
                                               fields.texts("commits", 10'000, 256).empty());
    if (!needs_more && !(allowance.regexes.empty() && allowance.stopwords.empty()))
      to.push_back(std::move(allowance));
  }

  void extend() {
    auto fields = fields_.object("extend", extend_fields);
    const auto disabled = fields.texts("disabledRules", limits::redact_rules_max, 100);
    if (!fields.boolean("useDefault", false)) return;
    auto ours = parse_redaction_rules(curated_rules());
    RATCHET_ENSURE(ours.has_value(), "our own redaction rules do not parse");
    for (auto& rule : ours->rules) {
      const bool replaced = std::any_of(
          rules_.rules.begin(), rules_.rules.end(), [&](const auto& theirs) { return theirs.id == rule.id; });
      if (!replaced && std::find(disabled.begin(), disabled.end(), rule.id) == disabled.end())
        rules_.rules.push_back(std::move(rule));
    }
    for (auto& allowance : ours->allowances)
      rules_.allowances.push_back(std::move(allowance));
  }

  std::optional<Error> error_;
  ObjectReader fields_;
  RedactionRules rules_;
  std::size_t count_ = 0;
};

}  // namespace

Result<RedactionRules> parse_redaction_rules(std::string_view toml) {
  if (toml.size() > limits::redact_rules_bytes_max)
    return fail(
        ErrorCode::invalid_request,
        fmt::format("{} bytes of rules; at most {} are taken", toml.size(), limits::redact_rules_bytes_max));
  const auto file = parse_toml(toml);
  if (!file) return tl::unexpected(file.error());
  return RulesReader(*file).read();
}

}  // namespace ratchet
