#include "http/cli/print.hpp"

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "runtime/json/utf8.hpp"

namespace ratchet::cli {

namespace {

namespace json = boost::json;

constexpr std::size_t shown_bytes_max = 400;  // of a text below its event; the API has all of it
constexpr std::size_t line_bytes_max = 160;   // of arguments and errors

const json::value* find(const json::value& in, std::string_view name) {
  const auto* object = in.if_object();
  return object == nullptr ? nullptr : object->if_contains(name);
}

/// The member as people read it: a text without quotes, nothing for null and for what is absent.
std::string word(const json::value& in, std::string_view name) {
  const auto* value = find(in, name);
  if (value == nullptr || value->is_null()) return "";
  return harmless(value->is_string() ? std::string(value->get_string()) : json::serialize(*value));
}

const json::value& inner(const json::value& in, std::string_view name) {
  static const json::value nothing;
  const auto* value = find(in, name);
  return value == nullptr ? nothing : *value;
}

std::string cut(std::string text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  text.resize(utf8_cut(text, bytes_max));
  return text + "…";
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return cut(std::move(text), line_bytes_max);
}

std::string joined(const json::value& list) {
  std::string out;
  if (const auto* array = list.if_array())
    for (const auto& item : *array)
      out += (out.empty() ? "" : ", ") +
             harmless(item.is_string() ? std::string(item.get_string()) : json::serialize(item));
  return out;
}

/// The texts of a list of content blocks; what is kept as an artifact by its id and head.
std::string content_text(const json::value& content) {
  std::string out;
  const auto* array = content.if_array();
  if (array == nullptr) return out;
  for (const auto& block : *array) {
    if (!out.empty()) out += "\n";
    if (const auto artifact = word(block, "artifact_id"); !artifact.empty())
      out += fmt::format("[{}, {} bytes] {}", artifact, word(block, "bytes"), word(block, "head"));
    else if (word(block, "type") == "image")
      out += "[an image]";
    else
      out += word(block, "text");
  }
  return out;
}

/// What a line says of an event, beside its number and type.
std::string words(std::string_view type,
                  const json::value& event,
                  const std::map<std::string, std::string>& tools) {
  const auto tool = [&] {
    const auto call = word(event, "call_id");
    const auto known = tools.find(call);
    return known == tools.end() ? call : known->second;
  };
  if (type == "run.started")
    return fmt::format("agent {} version {}, model {}, user {}",
                       word(event, "agent_id"),
                       word(event, "agent_version"),
                       word(inner(event, "model"), "name"),
                       word(event, "user_id"));
  if (type == "message.received") return "from " + word(event, "from");
  if (type == "model.requested")
    return fmt::format("step {}, attempt {}", word(event, "step"), word(event, "attempt"));
  if (type == "model.completed") {
    const auto& usage = inner(event, "usage");
    return fmt::format("{}, {} tokens in, {} out, ${}, {} ms",
                       word(event, "stop_reason"),
                       word(usage, "input_tokens"),
                       word(usage, "output_tokens"),
                       word(event, "cost_usd"),
                       word(event, "latency_ms"));
  }
  if (type == "model.failed") {
    const auto retry_at = word(event, "retry_at");
    return fmt::format("{}: {}{}",
                       word(event, "class"),
                       one_line(word(event, "error")),
                       retry_at.empty() ? "" : ", again at " + retry_at);
  }
  if (type == "tool.requested")
    return fmt::format("{} {} → {}",
                       word(event, "tool"),
                       one_line(word(event, "args")),
                       word(inner(event, "verdict"), "decision"));
  if (type == "tool.planned") return fmt::format("{}, attempt {}", tool(), word(event, "attempt"));
  if (type == "tool.result")
    return fmt::format("{} {}, {} bytes, {} ms",
                       tool(),
                       word(event, "status"),
                       word(event, "bytes"),
                       word(event, "latency_ms"));
  if (type == "budget.warning")
    return fmt::format("{}: {} of {} used", word(event, "which"), word(event, "used"), word(event, "limit"));
  if (type == "call.unknown")
    return fmt::format("{} ({}): {}", tool(), word(event, "call_id"), word(event, "why"));
  if (type == "call.resolved")
    return fmt::format("{} {}, by {}", tool(), word(event, "outcome"), word(event, "by"));
  if (type == "run.paused") {
    const auto error = one_line(word(event, "error"));
    return fmt::format("waits for {} until {}{}",
                       joined(inner(event, "reasons")),
                       word(event, "expires_at"),
                       error.empty() ? "" : ": " + error);
  }
  if (type == "run.resumed") return word(event, "reason");
  if (type == "run.cancel_requested")
    return fmt::format("by {}: {}", word(event, "by"), word(event, "reason"));
  if (type == "run.finished") {
    const auto error = one_line(word(event, "error"));
    return fmt::format("{} after {} steps, ${}{}",
                       word(event, "stop_reason"),
                       word(event, "steps"),
                       word(event, "cost_usd"),
                       error.empty() ? "" : ": " + error);
  }
  return one_line(harmless(json::serialize(event)));
}

/// The text that belongs below an event's line.
std::string text_of(std::string_view type, const json::value& event) {
  if (type == "run.started") return content_text(inner(event, "input"));
  if (type == "message.received" || type == "model.completed" || type == "tool.result")
    return content_text(inner(event, "content"));
  if (type == "call.resolved") return content_text(inner(event, "result"));
  if (type == "run.finished") {
    const auto& report = inner(event, "report");
    return report.is_null() ? word(event, "result") : word(report, "text");
  }
  return "";
}

constexpr std::string_view dim = "\x1b[2m", bold = "\x1b[1m", plain = "\x1b[0m";

}  // namespace

Style terminal_style() {
  const bool terminal = isatty(STDOUT_FILENO) == 1;
  const char* no_colour = std::getenv("NO_COLOR");
  return {terminal && (no_colour == nullptr || *no_colour == '\0'), terminal};
}

std::string harmless(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F, which some terminals take for escape sequences, are C2 80 to C2 9F.
    const bool c1 = byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (c1) ++i;
    if (c1 || (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F)
      out += replacement_character;
    else
      out += text[i];
  }
  return out;
}

EventPrinter::EventPrinter(std::ostream& out, Style style) : out_(out), style_(style) {}

void EventPrinter::line(std::uint64_t seq, std::string_view type, const std::string& words) {
  if (style_.colour)
    out_ << fmt::format("{}{:>4}{}  {}{:<16}{}  {}\n", dim, seq, plain, bold, type, plain, words);
  else
    out_ << fmt::format("{:>4}  {:<16}  {}\n", seq, type, words);
}

void EventPrinter::below(std::string_view text, std::size_t bytes_max) {
  auto rest = cut(std::string(text), bytes_max);
  while (rest.ends_with('\n'))
    rest.pop_back();
  if (rest.empty()) return;
  std::size_t begin = 0;
  while (begin <= rest.size()) {
    const auto end = std::min(rest.find('\n', begin), rest.size());
    out_ << "      " << (style_.colour ? dim : "") << rest.substr(begin, end - begin)
         << (style_.colour ? plain : "") << "\n";
    begin = end + 1;
  }
}

void EventPrinter::event(std::string_view type, const std::string& data) {
  boost::system::error_code error;
  const auto event = json::parse(data, error);
  if (error) {
    out_ << "an event that is not JSON: " << harmless(cut(data, line_bytes_max)) << "\n";
    return;
  }
  if (type == "tool.requested") tools_[word(event, "call_id")] = word(event, "tool");
  const bool was_live = shown_ > 0;
  if (was_live) out_ << "\n";
  shown_ = 0;
  std::uint64_t seq = 0;
  if (const auto* value = find(event, "seq"); value != nullptr && value->is_int64())
    seq = static_cast<std::uint64_t>(value->get_int64());
  line(seq, type, words(type, event, tools_));
  const bool answer = type == "run.finished";
  if (!(type == "model.completed" && was_live))
    below(text_of(type, event), answer ? std::string::npos : shown_bytes_max);
  out_.flush();
}

void EventPrinter::delta(const std::string& data) {
  boost::system::error_code error;
  const auto delta = json::parse(data, error);
  if (!style_.live || error) return;
  const auto reply = word(delta, "step") + "/" + word(delta, "attempt");
  const auto* text = find(delta, "text");
  const auto* index = find(delta, "index");
  if (text == nullptr || !text->is_string() || index == nullptr || !index->is_int64()) return;
  if (reply != reply_) {
    if (shown_ > 0) out_ << "\n";
    shown_ = 0;
    reply_ = reply;
  }
  // What was shown before is not shown again; a gap cannot be, so it is left to the whole reply.
  const std::string_view piece(text->get_string().data(), text->get_string().size());
  const auto begin = static_cast<std::uint64_t>(index->get_int64());
  if (begin > shown_ || begin + piece.size() <= shown_) return;
  if (shown_ == 0) out_ << "      ";
  out_ << harmless(piece.substr(shown_ - begin));
  shown_ = begin + piece.size();
  out_.flush();
}

}  // namespace ratchet::cli
