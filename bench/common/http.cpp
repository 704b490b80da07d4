#include "bench/common/http.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <strings.h>

#include <fmt/format.h>

namespace ratchet::bench {

namespace {

bool same_word(std::string_view left, std::string_view right) {
  return left.size() == right.size() && strncasecmp(left.data(), right.data(), left.size()) == 0;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

std::size_t parse_size(std::string_view text, int base) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end == text.data())
    throw std::runtime_error(fmt::format("not a length: '{}'", text));
  return value;
}

/// Calls `visit(name, value)` for each field and returns the start line; nullopt while the head is not whole.
template <class Visit>
std::optional<std::string_view> walk_head(std::string_view bytes, std::size_t& head_bytes, Visit&& visit) {
  const auto end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  head_bytes = end + 4;
  auto lines = bytes.substr(0, end + 2);
  const auto first = lines.substr(0, lines.find("\r\n"));
  lines.remove_prefix(first.size() + 2);
  while (!lines.empty()) {
    const auto line = lines.substr(0, lines.find("\r\n"));
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) throw std::runtime_error(fmt::format("no header: '{}'", line));
    visit(line.substr(0, colon), trimmed(line.substr(colon + 1)));
    lines.remove_prefix(line.size() + 2);
  }
  return first;
}

std::string_view next_word(std::string_view& line) {
  const auto word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(line.size(), word.size() + 1));
  return word;
}

std::string_view reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 411:
      return "Length Required";
    default:
      return "Error";
  }
}

}  // namespace

std::optional<RequestHead> parse_request_head(std::string_view bytes) {
  RequestHead head;
  auto first = walk_head(bytes, head.head_bytes, [&](std::string_view name, std::string_view value) {
    if (same_word(name, "content-length")) head.body_bytes = parse_size(value, 10);
    if (same_word(name, "transfer-encoding")) head.chunked = true;
    if (same_word(name, "idempotency-key")) head.idempotency_key = value;
    if (same_word(name, "expect")) head.expects_continue = true;
    if (same_word(name, "connection") && same_word(value, "close")) head.keep_alive = false;
  });
  if (!first) return std::nullopt;
  head.method = next_word(*first);
  head.target = next_word(*first);
  if (!first->starts_with("HTTP/1.")) throw std::runtime_error("not an HTTP/1 request");
  return head;
}

std::optional<ReplyHead> parse_reply_head(std::string_view bytes) {
  ReplyHead head;
  auto first = walk_head(bytes, head.head_bytes, [&](std::string_view name, std::string_view value) {
    if (same_word(name, "content-length")) head.body_bytes = parse_size(value, 10);
    if (same_word(name, "transfer-encoding")) head.chunked = same_word(value, "chunked");
    if (same_word(name, "connection") && same_word(value, "close")) head.keep_alive = false;
  });
  if (!first) return std::nullopt;
  if (!first->starts_with("HTTP/1.")) throw std::runtime_error("not an HTTP/1 reply");
  next_word(*first);
  head.status = static_cast<int>(parse_size(next_word(*first), 10));
  if (head.status == 204 || head.status == 304) head.body_bytes = 0;
  return head;
}

bool ChunkReader::read(std::string& bytes, std::string& body) {
  std::size_t used = 0;
  bool last = false;
  while (!last) {
    const auto rest = std::string_view(bytes).substr(used);
    if (in_chunk_) {
      // The chunk and the line end after it.
      const auto data_bytes = std::min(chunk_left_, rest.size());
      body.append(rest.substr(0, data_bytes));
      chunk_left_ -= data_bytes;
      used += data_bytes;
      if (chunk_left_ > 0 || rest.size() < data_bytes + 2) break;
      used += 2;
      in_chunk_ = false;
      continue;
    }
    const auto line_end = rest.find("\r\n");
    if (line_end == std::string_view::npos) break;
    chunk_left_ = parse_size(rest.substr(0, line_end), 16);
    if (chunk_left_ == 0) {
      if (rest.size() < line_end + 4) break;  // no trailers are expected: an empty line ends the body
      used += line_end + 4;
      last = true;
    } else {
      used += line_end + 2;
      in_chunk_ = true;
    }
  }
  bytes.erase(0, used);
  return last;
}

void append_chunk(std::string_view data, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{:x}\r\n", data.size());
  out += data;
  out += "\r\n";
}

void append_reply(int status, std::string_view type, std::string_view body, std::string& out) {
  fmt::format_to(std::back_inserter(out),
                 "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n{}",
                 status,
                 reason(status),
                 type,
                 body.size(),
                 body);
}

}  // namespace ratchet::bench
