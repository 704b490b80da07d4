#include "http/cli/print.hpp"

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <unistd.h>

#include <fmt/format.h>

#include "http/cli/event_text.hpp"
#include "http/cli/fields.hpp"
#include "runtime/json/utf8.hpp"

namespace ratchet::cli {

namespace {

constexpr std::size_t id_end = 6;             // characters of an id that tell the runs of a tree apart
constexpr std::size_t shown_bytes_max = 400;  // of a text below its event; the API has all of it

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

void EventPrinter::line(std::uint64_t seq, const std::string& type, const std::string& words) {
  if (style_.colour)
    out_ << fmt::format("{}{:>4}{}  {}{:<16}{}  {}\n", dim, seq, plain, bold, type, plain, words);
  else
    out_ << fmt::format("{:>4}  {:<16}  {}\n", seq, type, words);
}

void EventPrinter::below(std::string_view text, std::size_t bytes_max) {
  const bool cut = text.size() > bytes_max;
  if (cut) text = text.substr(0, utf8_cut(text, bytes_max));
  while (text.ends_with('\n'))
    text.remove_suffix(1);
  for (bool more = !text.empty(); more;) {
    const auto end = text.find('\n');
    more = end != std::string_view::npos;
    const auto line = text.substr(0, end);
    text.remove_prefix(more ? end + 1 : text.size());
    out_ << "      " << (style_.colour ? dim : "") << line << (cut && !more ? "…" : "")
         << (style_.colour ? plain : "") << "\n";
  }
}

void EventPrinter::event(std::string_view type, const std::string& data) {
  const Fields event(data);
  const auto run = event.text("run_id");
  auto& tools = tools_[run];
  if (type == "tool.requested") tools[event.text("call_id")] = event.text("tool");
  const bool was_live = shown_ > 0;
  end_live();
  const auto text = event_text(type, event, tools);
  std::string words = event.is_json() ? text.line : data;
  if (!run.empty())
    words = fmt::format("[…{}] {}", run.substr(run.size() - std::min(run.size(), id_end)), words);
  line(event.number("seq"), harmless(type), harmless(words));
  // The answer is what the run was for: all of it. What was shown live is not shown again.
  if (!(type == "model.completed" && was_live && run.empty()))
    below(harmless(text.below), type == "run.finished" && run.empty() ? std::string::npos : shown_bytes_max);
  out_.flush();
}

/// A preview of something else than before begins a new line.
void EventPrinter::begin_live(const std::string& of) {
  if (of == live_) return;
  end_live();
  live_ = of;
}

/// The next piece of it, indented as what stands below an event.
void EventPrinter::live(std::string_view text) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto line = text.substr(0, end == std::string_view::npos ? text.size() : end + 1);
    if (line_begins_) out_ << "      ";
    out_ << line;
    line_begins_ = line.ends_with('\n');
    text.remove_prefix(line.size());
  }
  out_.flush();
}

void EventPrinter::end_live() {
  if (!line_begins_) out_ << "\n";
  line_begins_ = true;
  shown_ = 0;
}

void EventPrinter::delta(const std::string& data) {
  const Fields delta(data);
  if (!style_.live || !delta.text("run_id").empty())
    return;  // replies of several runs at once cannot be shown
  begin_live(delta.text("step") + "/" + delta.text("attempt"));
  // What was shown before is not shown again; a gap cannot be closed, so it is left to the whole reply.
  const auto piece = delta.text("text");
  const auto begin = delta.number("index");
  if (begin > shown_ || begin + piece.size() <= shown_) return;
  live(harmless(std::string_view(piece).substr(shown_ - begin)));
  shown_ = begin + piece.size();
}

void EventPrinter::output(const std::string& data) {
  const Fields output(data);
  begin_live(output.text("run_id") + "/" + output.text("call_id") + "/" + output.text("attempt"));
  const auto piece = output.text("text");
  const auto begin = output.number("index");
  if (begin + piece.size() <= shown_) return;
  live(harmless(std::string_view(piece).substr(begin < shown_ ? shown_ - begin : 0)));
  shown_ = begin + piece.size();
}

}  // namespace ratchet::cli
