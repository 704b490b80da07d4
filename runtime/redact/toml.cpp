#include "runtime/redact/toml.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/json/utf8.hpp"

namespace ratchet {

namespace {

namespace json = boost::json;

constexpr std::size_t arrays_depth_max = 8;

class TomlParser {
 public:
  explicit TomlParser(std::string_view text) : text_(text) {}

  Result<json::value> parse() {
    if (!is_valid_utf8(text_)) return fail(ErrorCode::invalid_request, "the file is not UTF-8");
    while (!error_ && skip_lines())
      statement();
    if (error_) return tl::unexpected(*error_);
    return json::value(std::move(root_));
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  bool take(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }

  void refuse(std::string_view why) {
    if (error_) return;
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
    error_ = Error{ErrorCode::invalid_request, fmt::format("line {}: {}", line, why)};
    at_ = text_.size();
  }

  void skip_blanks() {
    while (peek() == ' ' || peek() == '\t')
      ++at_;
  }

  /// Blanks, ends of lines and comments. False at the end.
  bool skip_lines() {
    while (at_ < text_.size()) {
      skip_blanks();
      if (peek() == '#')
        at_ = std::min(text_.find('\n', at_), text_.size());
      else if (!take("\n") && !take("\r\n"))
        return at_ < text_.size();
    }
    return false;
  }

  void end_of_line() {
    skip_blanks();
    if (error_ || at_ == text_.size() || peek() == '#' || peek() == '\n' || text_.substr(at_, 2) == "\r\n")
      return;
    refuse("expected the end of the line");
  }

  void statement() {
    if (take("[[")) {
      header(true);
    } else if (take("[")) {
      header(false);
    } else {
      const auto name = key();
      skip_blanks();
      if (!take("=")) return refuse("expected a key and =");
      skip_blanks();
      auto read = value(0);
      if (error_) return;
      if (table().contains(name)) return refuse(fmt::format("{} comes twice", name));
      table()[name] = std::move(read);
    }
    end_of_line();
  }

  json::object& table() { return *table_; }

  /// `[a.b]` or `[[a.b]]`: every step but the last goes into the newest table of an array.
  void header(bool array) {
    json::object* at = &root_;
    while (true) {
      skip_blanks();
      const auto name = key();
      skip_blanks();
      if (error_) return;
      const bool last = !take(".");
      auto& member = (*at)[name];
      if (last && array) {
        if (member.is_null()) member.emplace_array();
        if (!member.is_array()) return refuse(fmt::format("{} is no array of tables", name));
        member.get_array().emplace_back(json::object());
        table_ = &member.get_array().back().get_object();
        break;
      }
      if (last && !member.is_null()) return refuse(fmt::format("the table {} comes twice", name));
      if (member.is_null()) member.emplace_object();
      if (member.is_array() && !member.get_array().empty() && member.get_array().back().is_object())
        at = &member.get_array().back().get_object();
      else if (member.is_object())
        at = &member.get_object();
      else
        return refuse(fmt::format("{} is no table", name));
      if (!last) continue;
      table_ = at;
      break;
    }
    if (!take(array ? "]]" : "]")) refuse("a header is not closed");
  }

  std::string key() {
    if (peek() == '"' || peek() == '\'') return string();
    const std::size_t from = at_;
    while (std::isalnum(static_cast<unsigned char>(peek())) || peek() == '_' || peek() == '-')
      ++at_;
    if (from == at_) refuse("expected a key");
    return std::string(text_.substr(from, at_ - from));
  }

  json::value value(std::size_t depth) {
    if (peek() == '"' || peek() == '\'') return json::value(string());
    if (take("true")) return true;
    if (take("false")) return false;
    if (take("[")) return array(depth + 1);
    return number();
  }

  json::value array(std::size_t depth) {
    json::array items;
    if (depth > arrays_depth_max) refuse("arrays are nested too deep");
    while (!error_) {
      if (!skip_lines()) {
        refuse("an array is not closed");
      } else if (take("]")) {
        return items;
      } else {
        items.push_back(value(depth));
        skip_lines();
        if (!take(",") && peek() != ']') refuse("expected , or ]");
      }
    }
    return items;
  }

  json::value number() {
    const std::size_t from = at_;
    while (std::isalnum(static_cast<unsigned char>(peek())) ||
           (peek() != '\0' && std::string_view("+-._").find(peek()) != std::string_view::npos))
      ++at_;
    std::string digits(text_.substr(from, at_ - from));
    std::erase(digits, '_');
    if (digits.starts_with('+')) digits.erase(0, 1);
    const char* end = digits.data() + digits.size();
    std::int64_t integer = 0;
    if (const auto read = std::from_chars(digits.data(), end, integer);
        read.ec == std::errc() && read.ptr == end)
      return integer;
    double real = 0;
    if (const auto read = std::from_chars(digits.data(), end, real);
        read.ec == std::errc() && read.ptr == end)
      return real;
    at_ = from;
    refuse("expected a string, a number, true, false or an array");
    return nullptr;
  }

  std::string string() {
    for (const std::string_view quote : {"\"\"\"", "'''", "\"", "'"})
      if (take(quote)) return string(quote);
    return {};
  }

  std::string string(std::string_view quote) {
    const bool lines = quote.size() == 3, escapes = quote[0] == '"';
    if (lines && !take("\n")) take("\r\n");
    std::string out;
    while (at_ < text_.size()) {
      if (take(quote)) {
        // Up to two more quotes belong to the text.
        for (int more = 0; lines && more < 2 && take(quote.substr(0, 1)); ++more)
          out += quote[0];
        return out;
      }
      const char c = text_[at_];
      if (c == '\n' && !lines) break;
      ++at_;
      if (c == '\\' && escapes)
        escape(out, lines);
      else
        out += c;
    }
    refuse("a string is not closed");
    return out;
  }

  void escape(std::string& out, bool lines) {
    const char c = peek();
    ++at_;
    constexpr std::string_view names = "btnfr\"\\", values = "\b\t\n\f\r\"\\";
    if (const auto known = names.find(c); known != std::string_view::npos) {
      out += values[known];
    } else if (c == 'u' || c == 'U') {
      const std::size_t digits = c == 'u' ? 4 : 8;
      std::uint32_t code = 0;
      const auto text = text_.substr(std::min(at_, text_.size()), digits);
      const auto read = std::from_chars(text.data(), text.data() + text.size(), code, 16);
      const bool whole = text.size() == digits && read.ec == std::errc() && read.ptr == text.data() + digits;
      if (!whole || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return refuse("a bad escape");
      at_ += digits;
      append_code_point(out, code);
    } else if (lines && (c == '\n' || c == ' ' || c == '\t' || c == '\r')) {
      while (peek() == '\n' || peek() == ' ' || peek() == '\t' || peek() == '\r')
        ++at_;
    } else {
      refuse("a bad escape");
    }
  }

  static void append_code_point(std::string& out, std::uint32_t code) {
    const auto add = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
    if (code < 0x80) return add(code);
    if (code < 0x800) {
      add(0xC0 | (code >> 6));
    } else if (code < 0x10000) {
      add(0xE0 | (code >> 12));
      add(0x80 | ((code >> 6) & 0x3F));
    } else {
      add(0xF0 | (code >> 18));
      add(0x80 | ((code >> 12) & 0x3F));
      add(0x80 | ((code >> 6) & 0x3F));
    }
    add(0x80 | (code & 0x3F));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  json::object root_;
  json::object* table_ = &root_;  ///< what keys go into
  std::optional<Error> error_;
};

}  // namespace

Result<boost::json::value> parse_toml(std::string_view text) {
  return TomlParser(text).parse();
}

}  // namespace ratchet
