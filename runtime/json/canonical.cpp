#include "runtime/json/canonical.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "runtime/json/unescape.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/json/writer.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

/// Order by UTF-16 code units (RFC 8785 section 3.2.3). It is the order of the UTF-8 bytes, but for code
/// points above U+FFFF, whose surrogates sort before U+E000 to U+FFFF.
bool utf16_less(std::string_view a, std::string_view b) {
  const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (x == a.end() || y == b.end()) return y != b.end();
  const auto rank = [](char c) {
    const int byte = static_cast<unsigned char>(c);
    return byte == 0xEE || byte == 0xEF ? byte + 0x10 : byte;
  };
  return rank(*x) < rank(*y);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Reads the text once and writes the canonical form behind it; only objects whose keys are out of order are
/// put together a second time.
class Canonicaliser {
 public:
  explicit Canonicaliser(std::string_view text) : text_(text) { out_.reserve(text.size()); }

  Result<std::string> run() {
    skip_space();
    if (value(0)) {
      skip_space();
      if (at_ == text_.size()) return std::move(out_);
      refuse("expected nothing after the value, found " + found());
    }
    return fail(ErrorCode::invalid_json, position() + problem_);
  }

 private:
  struct Member {
    std::size_t key_begin, key_end;  // in keys_
    std::size_t begin, end;          // in out_: "key":value
  };

  bool refuse(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_space() {
    while (peek() == ' ' || peek() == '\n' || peek() == '\r' || peek() == '\t')
      ++at_;
  }

  bool value(std::size_t depth) {
    switch (peek()) {
      case '{':
        return depth < limits::json_depth_max ? object(depth) : refuse_depth();
      case '[':
        return depth < limits::json_depth_max ? array(depth) : refuse_depth();
      case '"':
        return string();
      case 't':
        return literal("true");
      case 'f':
        return literal("false");
      case 'n':
        return literal("null");
      default:
        return peek() == '-' || is_digit(peek()) ? number() : refuse("expected a value, found " + found());
    }
  }

  bool refuse_depth() { return refuse(fmt::format("nested deeper than {} levels", limits::json_depth_max)); }

  bool literal(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return refuse("expected a value, found " + found());
    at_ += word.size();
    out_ += word;
    return true;
  }

  bool array(std::size_t depth) {
    out_ += '[';
    ++at_;
    skip_space();
    if (peek() != ']') {
      while (true) {
        skip_space();
        if (!value(depth + 1)) return false;
        skip_space();
        if (peek() != ',') break;
        out_ += ',';
        ++at_;
      }
    }
    if (peek() != ']') return refuse("expected ',' or ']' in the array, found " + found());
    out_ += ']';
    ++at_;
    return true;
  }

  bool object(std::size_t depth) {
    const auto out_base = out_.size() + 1;
    const auto keys_base = keys_.size();
    const auto members_base = members_.size();
    out_ += '{';
    ++at_;
    skip_space();
    if (peek() != '}') {
      while (true) {
        skip_space();
        if (!member(depth)) return false;
        skip_space();
        if (peek() != ',') break;
        out_ += ',';
        ++at_;
      }
    }
    if (peek() != '}') return refuse("expected ',' or '}' in the object, found " + found());
    if (!sort_members(members_base, out_base)) return false;
    members_.resize(members_base);
    keys_.resize(keys_base);
    out_ += '}';
    ++at_;
    return true;
  }

  bool member(std::size_t depth) {
    if (peek() != '"') return refuse("expected a key in double quotes, found " + found());
    Member member{keys_.size(), 0, out_.size(), 0};
    if (!string(&keys_)) return false;
    member.key_end = keys_.size();
    skip_space();
    if (peek() != ':') return refuse("expected ':' after the key, found " + found());
    ++at_;
    out_ += ':';
    skip_space();
    if (!value(depth + 1)) return false;
    member.end = out_.size();
    members_.push_back(member);
    return true;
  }

  std::string_view key(const Member& member) const {
    return std::string_view(keys_).substr(member.key_begin, member.key_end - member.key_begin);
  }

  /// Sorts the members from `members_base` on; what they wrote begins at `out_base`.
  bool sort_members(std::size_t members_base, std::size_t out_base) {
    const auto begin = members_.begin() + static_cast<std::ptrdiff_t>(members_base);
    const auto less = [&](const Member& a, const Member& b) { return utf16_less(key(a), key(b)); };
    const bool sorted = std::is_sorted(begin, members_.end(), less);
    if (!sorted) std::sort(begin, members_.end(), less);
    const auto same = [&](const Member& a, const Member& b) { return key(a) == key(b); };
    if (const auto twin = std::adjacent_find(begin, members_.end(), same); twin != members_.end()) {
      std::string quoted;
      append_json_string(quoted, key(*twin));
      return refuse("the object that ends here has the key " + quoted + " twice");
    }
    if (sorted) return true;
    const std::string unsorted = out_.substr(out_base);
    out_.resize(out_base);
    for (auto it = begin; it != members_.end(); ++it) {
      if (it != begin) out_ += ',';
      out_.append(unsorted, it->begin - out_base, it->end - it->begin);
    }
    return true;
  }

  /// Appends the decoded string to `decoded`, where given.
  bool string(std::string* decoded = nullptr) {
    const auto begin = at_ + 1;
    bool escapes = false;
    for (++at_; peek() != '"'; ++at_) {
      const auto c = static_cast<unsigned char>(peek());
      if (at_ == text_.size()) return refuse("the text ends inside of a string");
      if (c < 0x20) return refuse("a control character inside of a string has to be escaped");
      if (c >= 0x80) {
        const auto length = utf8_length(text_.substr(at_));
        if (length == 0) return refuse("the string is not valid UTF-8");
        at_ += length - 1;
      } else if (c == '\\') {
        escapes = true;
        ++at_;  // whatever it escapes, it does not end the string
        if (at_ == text_.size()) return refuse("the text ends inside of a string");
      }
    }
    const auto inside = text_.substr(begin, at_ - begin);
    ++at_;
    if (!escapes) {
      out_.append(1, '"').append(inside).append(1, '"');
      if (decoded) decoded->append(inside);
      return true;
    }
    std::string plain;
    if (const auto read = append_unescaped(plain, inside); read != inside.size()) {
      at_ = begin + read;
      return refuse("JSON has no escape " + found());
    }
    plain = sanitize_utf8(plain);
    append_json_string(out_, plain);
    if (decoded) decoded->append(plain);
    return true;
  }

  bool digits() {
    const auto begin = at_;
    while (is_digit(peek()))
      ++at_;
    return at_ > begin;
  }

  bool number() {
    const auto begin = at_;
    if (peek() == '-') ++at_;
    if (peek() == '0') {
      ++at_;
    } else if (!digits()) {
      return refuse("expected a number, found " + found());
    }
    bool integer = true;
    if (peek() == '.') {
      integer = false;
      ++at_;
      if (!digits()) return refuse("expected digits after the decimal point, found " + found());
    }
    if (peek() == 'e' || peek() == 'E') {
      integer = false;
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!digits()) return refuse("expected digits of an exponent, found " + found());
    }
    if (is_digit(peek())) return refuse("a number cannot begin with 0, found " + found());
    const auto literal = text_.substr(begin, at_ - begin);
    if (integer && literal.size() <= 15 && literal != "-0") {
      out_ += literal;
      return true;
    }
    return rounded(literal, integer);
  }

  bool rounded(std::string_view literal, bool integer) {
    double value = 0;
    const auto parsed = std::from_chars(literal.data(), literal.data() + literal.size(), value);
    const auto shown = literal.substr(0, 40);
    if (parsed.ec != std::errc{}) return refuse(fmt::format("the number {} is out of range", shown));
    const auto begin = out_.size();
    append_json_number(out_, value);
    // Anything else would be another integer to a reader that takes more than a double holds.
    if (integer && value != 0 && std::string_view(out_).substr(begin) != literal)
      return refuse(fmt::format("the integer {} has too many digits: write it as a string", shown));
    return true;
  }

  /// What stands at the place of the error, for its text.
  std::string found() const {
    if (at_ >= text_.size()) return "the end of the text";
    const auto rest = text_.substr(at_);
    const auto stop = rest.find_first_of(" \t\r\n,:]}", 1);
    const auto word = rest.substr(0, utf8_cut(rest, std::min<std::size_t>(stop, 20)));
    std::string quoted;
    append_json_string(quoted, word);
    return quoted;
  }

  std::string position() const {
    const auto before = text_.substr(0, at_);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const auto line_begin = before.rfind('\n') + 1;  // npos + 1 == 0
    const auto column = 1 + std::count_if(before.begin() + static_cast<std::ptrdiff_t>(line_begin),
                                          before.end(),
                                          [](char c) { return (c & 0xC0) != 0x80; });
    return fmt::format("line {}, column {}: ", line, column);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
  std::string keys_;  // the decoded keys of the objects that are open
  std::vector<Member> members_;
  std::string problem_;
};

}  // namespace

Result<std::string> canonical_json(std::string_view text) {
  return Canonicaliser(text).run();
}

Result<std::string> canonical_object(std::string_view text) {
  auto canonical = canonical_json(text);
  if (!canonical || canonical->front() == '{') return canonical;
  const char first = canonical->front();
  const std::string_view kind = first == '['                   ? "an array"
                                : first == '"'                 ? "a string"
                                : first == 'n'                 ? "null"
                                : first == 't' || first == 'f' ? "a boolean"
                                                               : "a number";
  return fail(ErrorCode::invalid_json, fmt::format("expected an object, found {}", kind));
}

}  // namespace ratchet
