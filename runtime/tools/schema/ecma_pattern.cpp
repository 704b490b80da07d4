#include "runtime/tools/schema/ecma_pattern.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"
#include "runtime/tools/pattern.hpp"

namespace ratchet::schema {

namespace {

// White space and line ends of ECMA-262 (sections 12.2 and 12.3), and all the rest; RE2's \s is ASCII.
constexpr std::string_view space_class =
    R"(\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff})";
constexpr std::string_view not_space_class =
    R"(\x{0}-\x{8}\x{e}-\x{1f}!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e})"
    R"(\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff})";
constexpr std::string_view any_class = R"(\x{0}-\x{10ffff})";
constexpr std::string_view not_line_end = R"([^\n\r\x{2028}\x{2029}])";

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Writes a pattern of ECMA-262 as RE2 reads it.
class EcmaReader {
 public:
  explicit EcmaReader(std::string_view text) : text_(text) {}

  Result<std::string> run() {
    while (at_ < text_.size() && problem_.empty())
      step();
    if (!problem_.empty()) return fail(ErrorCode::not_supported, problem_);
    return std::move(out_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void refuse(std::string problem) { problem_ = std::move(problem); }

  void step() {
    const char c = peek();
    if (c == '\\') return escape();
    ++at_;
    if (in_class_) {
      in_class_ = c != ']';
      if (c == '[') out_ += '\\';  // RE2 would look for [:alpha:]
      out_ += c;
    } else if (c == '[') {
      open_class();
    } else if (c == '(' && peek() == '?') {
      group();
    } else if (c == '.') {
      out_ += not_line_end;
    } else {
      out_ += c;
    }
  }

  void open_class() {
    const bool negated = peek() == '^';
    if (negated) ++at_;
    if (peek() == ']') {  // the class of nothing, or its complement
      ++at_;
      out_.append(negated ? "[" : "[^").append(any_class).append("]");
      return;
    }
    out_ += negated ? "[^" : "[";
    in_class_ = true;
  }

  void group() {
    if (peek(1) == ':') {
      out_ += "(?:";
      at_ += 2;
    } else if (peek(1) == '<' && peek(2) != '=' && peek(2) != '!') {
      out_ += "(?P<";
      at_ += 2;
    } else {
      refuse(fmt::format("the pattern has a group (?{}, which RE2 does not take",
                         is_print(peek(1)) ? peek(1) : '?'));
    }
  }

  static bool is_print(char c) { return c > 0x20 && c < 0x7F; }

  void escape() {
    const char c = peek(1);
    at_ += 2;
    switch (c) {
      case 'd':
      case 'D':
      case 'w':
      case 'W':
      case 't':
      case 'n':
      case 'v':
      case 'f':
      case 'r':
        out_.append(1, '\\').append(1, c);
        return;
      case 's':
        return char_class("", space_class);
      case 'S':
        return char_class("", not_space_class);
      case 'b':
        out_ += in_class_ ? "\\x{8}" : "\\b";
        return;
      case 'B':
        if (in_class_) break;
        out_ += "\\B";
        return;
      case 'p':
      case 'P':
        if (peek() != '{') break;
        out_.append(1, '\\').append(1, c);
        return property();
      case 'u':
        return code_unit();
      case 'x':
        return code_point(hex(2));
      case 'c':
        if (!std::isalpha(static_cast<unsigned char>(peek()))) break;
        return code_point(static_cast<std::uint32_t>(text_[at_++]) % 32);
      case '0':
        if (peek() >= '0' && peek() <= '9') break;
        return code_point(0);
      default:
        if (c <= ' ' || c > '~' || is_alphanumeric(c)) break;
        if (c != '_') out_ += '\\';
        out_ += c;
        return;
    }
    refuse(is_print(c) ? fmt::format("the pattern has the escape \\{}, which is not taken", c)
                       : "the pattern ends in an escape, or escapes what needs none");
  }

  void char_class(std::string_view negation, std::string_view inside) {
    if (in_class_) {
      out_ += inside;
    } else {
      out_.append("[").append(negation).append(inside).append("]");
    }
  }

  /// `\p{…}`; RE2 knows general categories by their short names and scripts.
  void property() {
    const auto end = text_.find('}', at_);
    if (end == std::string_view::npos) return refuse("the pattern has a \\p{ without its end");
    auto name = text_.substr(at_ + 1, end - at_ - 1);
    for (const std::string_view prefix : {"General_Category=", "gc=", "Script=", "sc="})
      if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    if (name == "Letter") name = "L";
    if (name == "Number") name = "N";
    if (name == "Punctuation") name = "P";
    out_.append("{").append(name).append("}");
    at_ = end + 1;
  }

  /// That many hexadecimal digits; -1 and a problem if they are not there.
  std::int64_t hex(std::size_t digits) {
    const auto text = text_.substr(std::min(at_, text_.size()), digits);
    std::uint32_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    if (text.size() != digits || digits == 0 || read.ptr != text.data() + digits) {
      refuse("the pattern has an escape \\x or \\u without its digits");
      return -1;
    }
    at_ += digits;
    return number;
  }

  void code_unit() {
    if (peek() == '{') {
      ++at_;
      const auto end = text_.find('}', at_);
      const auto number = hex(std::min<std::size_t>(std::min(end, text_.size()) - at_, 8));
      if (peek() != '}') return refuse("the pattern has an escape \\u{ without its end");
      ++at_;
      return code_point(number);
    }
    auto number = hex(4);
    const bool is_high = number >= 0xD800 && number < 0xDC00;
    if (is_high && peek() == '\\' && peek(1) == 'u') {
      at_ += 2;
      const auto low = hex(4);
      if (low >= 0xDC00 && low < 0xE000) number = 0x10000 + ((number - 0xD800) << 10) + (low - 0xDC00);
    }
    code_point(number);
  }

  void code_point(std::int64_t number) {
    if (!problem_.empty()) return;
    if (number > 0x10FFFF || (number >= 0xD800 && number < 0xE000))
      return refuse("the pattern has an escape that is no code point");
    out_ += fmt::format("\\x{{{:x}}}", number);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool in_class_ = false;
  std::string out_, problem_;
};

}  // namespace

bool Pattern::matches(std::string_view subject) const {
  return re2::RE2::PartialMatch(re2::StringPiece(subject.data(), subject.size()), *program);
}

std::size_t Pattern::steps(std::size_t bytes) const {
  return 1 + bytes * static_cast<std::size_t>(program->ProgramSize()) / 256;
}

Result<Pattern> compile_ecma_pattern(std::string_view text) {
  if (text.size() > limits::pattern_bytes_max)
    return fail(
        ErrorCode::not_supported,
        fmt::format(
            "the pattern has {} bytes; at most {} are taken", text.size(), limits::pattern_bytes_max));
  const auto translated = EcmaReader(text).run();
  if (!translated) return tl::unexpected(translated.error());
  auto program = compile_re2(*translated);
  if (!program) return fail(ErrorCode::not_supported, program.error().text);
  return Pattern{std::string(text), std::move(*program)};
}

}  // namespace ratchet::schema
