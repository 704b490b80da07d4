// Redactor::json: the strings of a JSON text are looked at one by one, and only those with a secret are
// written anew.

#include <optional>

#include "runtime/json/unescape.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/json/writer.hpp"
#include "runtime/limits.hpp"
#include "runtime/redact/redactor.hpp"

namespace ratchet {

namespace {

/// One pass over a JSON text. It checks no more of the syntax than it needs to know where strings are and
/// which of them are keys.
class JsonRedaction {
 public:
  JsonRedaction(const Redactor& redactor, std::string_view json, bool by_key)
      : redactor_(redactor), json_(json), by_key_(by_key) {}

  /// False: this is no JSON.
  bool run() {
    while (at_ < json_.size()) {
      const char c = json_[at_];
      if (c == '"') {
        if (!string()) return false;
      } else if (c == '{' || c == '[') {
        // The names of what is inside count too, once what is around is hidden.
        levels_.push_back({c == '{', c == '{', hides_value()});
        ++at_;
      } else if (c == '}' || c == ']') {
        if (levels_.empty() || levels_.back().object != (c == '}')) return false;
        levels_.pop_back();
        ++at_;
      } else if (c == ',') {
        if (levels_.empty()) return false;
        levels_.back().at_key = levels_.back().object;
        if (levels_.back().object) levels_.back().hides_member = false;
        ++at_;
      } else if (c == ':') {
        if (levels_.empty()) return false;
        levels_.back().at_key = false;
        ++at_;
      } else if (c == '-' || (c >= '0' && c <= '9')) {
        number();
      } else {
        ++at_;
      }
    }
    return levels_.empty();
  }

  bool changed() const { return changed_; }

  std::string take() {
    out_.append(json_.substr(copied_));
    return std::move(out_);
  }

 private:
  struct Level {
    bool object, at_key;
    bool hides_all = false;     ///< it stands under the key of a secret
    bool hides_member = false;  ///< the value that follows does
  };

  bool hides_value() const {
    return !levels_.empty() && (levels_.back().hides_all || levels_.back().hides_member);
  }

  void replace(std::size_t begin, std::size_t end, std::string_view text) {
    out_.append(json_.substr(copied_, begin - copied_));
    append_json_string(out_, text);
    copied_ = end;
    changed_ = true;
  }

  void number() {
    const std::size_t begin = at_;
    at_ = std::min(json_.find_first_not_of("+-.0123456789eE", at_), json_.size());
    if (hides_value()) replace(begin, at_, redaction_mark("key"));
  }

  /// The first quote behind the one at `begin` that an even number of backslashes stands before.
  std::size_t closing_quote(std::size_t begin) const {
    for (auto at = json_.find('"', begin + 1); at != std::string_view::npos; at = json_.find('"', at + 1)) {
      const auto before = json_.find_last_not_of('\\', at - 1);
      if ((at - before) % 2 == 1) return at;
    }
    return std::string_view::npos;
  }

  bool string() {
    const std::size_t begin = at_;
    at_ = closing_quote(begin);
    if (at_ == std::string_view::npos) return false;
    const auto escaped = json_.substr(begin + 1, at_ - begin - 1);
    ++at_;
    const bool is_key = !levels_.empty() && levels_.back().at_key;
    if (!is_key && hides_value()) {
      if (!escaped.empty()) replace(begin, at_, redaction_mark("key"));
      return true;
    }
    std::string_view said = escaped;
    decoded_.clear();
    if (escaped.find('\\') != std::string_view::npos) {
      if (append_unescaped(decoded_, escaped) != escaped.size()) return false;
      said = decoded_;
    }
    if (is_key) levels_.back().hides_member = by_key_ && is_secret_key(said);
    if (const auto redacted = redactor_.text(said)) replace(begin, at_, sanitize_utf8(*redacted));
    return true;
  }

  const Redactor& redactor_;
  std::string_view json_;
  const bool by_key_;
  std::size_t at_ = 0;
  std::size_t copied_ = 0;  ///< of the text, into `out_`
  std::string out_, decoded_;
  bool changed_ = false;
  std::vector<Level> levels_;
};

}  // namespace

std::optional<std::string> Redactor::json(std::string_view json, Keys keys) const {
  if (!may_hide(json, keys)) return std::nullopt;
  JsonRedaction redaction(*this, json, keys == Keys::hidden);
  if (!redaction.run()) return text(json);
  if (!redaction.changed()) return std::nullopt;
  return redaction.take();
}

}  // namespace ratchet
