// Two runs side by side, for people: the lines of `against` begin with -, those of the run with +.

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "http/cli/fields.hpp"
#include "http/cli/print.hpp"
#include "runtime/json/utf8.hpp"

namespace ratchet::cli {

namespace {

constexpr std::size_t shown_bytes_max = 400;  // of a text or of arguments; the API has more

constexpr std::string_view red = "\x1b[31m", green = "\x1b[32m", bold = "\x1b[1m", plain = "\x1b[0m";

class DiffPrinter {
 public:
  DiffPrinter(std::ostream& out, Style style) : out_(out), style_(style) {}

  void print(const Fields& diff) {
    out_ << "--- " << harmless(diff.text("against")) << "\n+++ " << harmless(diff.text("run_id")) << "\n";
    for (const std::string& step : diff.texts("steps"))
      print_step(Fields(step));
    const auto first = diff.text("first_divergent_step");
    out_ << (first.empty() ? "the same in every step" : "they part at step " + harmless(first)) << "; cost "
         << signed_money(diff.text("cost_delta_usd")) << "\n";
  }

 private:
  static std::string signed_money(std::string amount) {
    amount = harmless(amount);
    const bool negative = amount.starts_with('-');
    return (negative ? "-$" : "+$") + amount.substr(negative ? 1 : 0);
  }

  void print_step(const Fields& step) {
    const auto head = fmt::format("step {}", harmless(step.text("step")));
    if (step.text("same") == "true") {
      out_ << head << ": the same\n";
      return;
    }
    out_ << (style_.colour ? bold : "") << head << (style_.colour ? plain : "") << "\n";
    part("request", step, "request", [](const Fields& side) {
      return "prompt " + side.text("prompt_hash").substr(0, 16);
    });
    part("reply", step, "reply", [](const Fields& side) {
      return fmt::format("{}: {}", side.text("stop_reason"), side.text("text"));
    });
    for (const std::string& call : step.texts("calls"))
      part("call", Fields(call), "", [](const Fields& side) {
        const auto source = side.text("source");
        return fmt::format("{} {} → {}{}",
                           side.text("tool"),
                           side.text("args"),
                           side.text("status").empty() ? "no result" : side.text("status"),
                           source.empty() || source == "execution" ? "" : " (" + source + ")");
      });
  }

  template <class Line>
  void part(std::string_view what, const Fields& parent, std::string_view path, Line line) {
    const auto at = [&](std::string_view name) {
      return parent.text(path.empty() ? std::string(name) : fmt::format("{}/{}", path, name));
    };
    if (at("same") == "true") return;
    const auto run = at("run"), against = at("against");
    if (run.empty() && against.empty()) return;
    out_ << "  " << what << "\n";
    if (!against.empty()) side('-', red, line(Fields(against)));
    if (!run.empty()) side('+', green, line(Fields(run)));
  }

  void side(char sign, std::string_view colour, std::string text) {
    text = harmless(text);
    if (text.size() > shown_bytes_max) text = text.substr(0, utf8_cut(text, shown_bytes_max)) + "…";
    std::replace(text.begin(), text.end(), '\n', ' ');
    out_ << "    " << (style_.colour ? colour : "") << sign << ' ' << text << (style_.colour ? plain : "")
         << "\n";
  }

  std::ostream& out_;
  Style style_;
};

}  // namespace

void print_diff(std::ostream& out, Style style, const std::string& json) {
  const Fields diff(json);
  if (!diff.is_json()) {
    out << harmless(json) << "\n";
    return;
  }
  DiffPrinter(out, style).print(diff);
}

}  // namespace ratchet::cli
