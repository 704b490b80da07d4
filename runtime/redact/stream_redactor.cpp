#include "runtime/redact/stream_redactor.hpp"

#include <algorithm>

#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

constexpr std::string_view blanks = " \t\r\n";
/// Of a secret that is longer than what is held: enough to tell by that it goes on.
constexpr std::size_t kept_bytes = 128;

std::size_t word_begin(std::string_view text, std::size_t at) {
  const auto blank = at == 0 ? std::string_view::npos : text.find_last_of(blanks, at - 1);
  return blank == std::string_view::npos ? 0 : blank + 1;
}

bool has_word_after(std::string_view text, std::size_t at) {
  const auto begin = text.find_first_not_of(blanks, at);
  return begin != std::string_view::npos && text.find_first_of(blanks, begin) != std::string_view::npos;
}

}  // namespace

std::string StreamRedactor::feed(std::string_view piece) {
  held_ += piece;
  const std::string_view text = held_;
  std::size_t end = word_begin(text, text.size() - redactor_->unfinished_bytes(text));
  if (kept_ == 0 && text.size() <= limits::redact_held_bytes_max && !redactor_->may_have(text)) {
    std::string out = held_.substr(0, end);
    held_.erase(0, end);
    shown_bytes_ += out.size();
    return out;
  }
  const auto secrets = redactor_->find(text);
  for (const std::size_t keyword : redactor_->keywords(text)) {
    // One whose secret is whole is waited for no longer: with the word after it, what matched stays.
    const bool settled = std::any_of(secrets.begin(), secrets.end(), [&](const Redactor::Found& secret) {
      return secret.match_begin <= keyword && keyword < secret.end && has_word_after(text, secret.end);
    });
    if (!settled && text.size() - keyword < Redactor::reach_bytes)
      end = std::min(end, word_begin(text, keyword));
  }
  for (const auto& secret : secrets)
    if (secret.begin < end && secret.end >= end) end = word_begin(text, secret.match_begin);
  if (text.size() - std::min(end, text.size()) > limits::redact_held_bytes_max)
    end = utf8_cut(text, text.size() - limits::redact_held_bytes_max / 2);
  return end > kept_ ? show(end) : std::string();
}

std::string StreamRedactor::finish() {
  return show(held_.size());
}

/// Shows what is held up to `end`. A secret that goes on behind it is replaced now, and its beginning kept.
std::string StreamRedactor::show(std::size_t end) {
  std::string out, kept;
  std::size_t at = kept_;
  for (const auto& secret : redactor_->find(held_)) {
    if (secret.begin >= end) break;
    if (secret.begin >= kept_) {
      out.append(held_, at, secret.begin - at);
      out += redaction_mark(secret.rule);
    }
    at = std::max(kept_, std::min(secret.end, end));
    if (secret.end > end || (secret.end == held_.size() && end == secret.end))
      kept = held_.substr(secret.match_begin, std::min(kept_bytes, end - secret.match_begin));
    if (secret.end > end) break;
  }
  if (at < end) out.append(held_, at, end - at);
  held_ = kept + held_.substr(end);
  kept_ = kept.size();
  shown_bytes_ += out.size();
  return out;
}

}  // namespace ratchet
