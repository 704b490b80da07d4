#include "runtime/tools/template_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/json/utf8.hpp"
#include "runtime/pointer.hpp"

namespace ratchet {

namespace {

bool is_word(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

}  // namespace

Result<std::vector<TemplatePart>> split_template(std::string_view text) {
  std::vector<TemplatePart> parts;
  while (!text.empty()) {
    const auto open = std::min(text.find("{{"), text.size());
    if (open > 0) parts.push_back({false, std::string(text.substr(0, open))});
    text.remove_prefix(open);
    if (text.empty()) break;
    const auto close = text.find("}}");
    if (close == std::string_view::npos)
      return fail(ErrorCode::invalid_definition, "a place {{… is not closed with }}");
    const auto place = text.substr(2, close - 2);
    if (!is_word(place) && (!place.starts_with('/') || !split_pointer(place)))
      return fail(
          ErrorCode::invalid_definition,
          fmt::format(
              "'{{{{{}}}}}' is not a place: write {{{{/pointer}}}}, a JSON pointer into the arguments",
              place.substr(0, utf8_cut(place, 60))));
    parts.push_back({true, std::string(place)});
    text.remove_prefix(close + 2);
  }
  return parts;
}

bool is_one_place(const std::vector<TemplatePart>& parts) {
  return parts.size() == 1 && parts[0].is_place;
}

UrlTemplate split_url_template(const std::vector<TemplatePart>& parts) {
  UrlTemplate url;
  const auto add = [&](bool is_place, std::string_view text) {
    auto& into = url.query.empty() ? url.base : url.query.back();
    if (!text.empty()) into.push_back({is_place, std::string(text)});
  };
  for (const auto& part : parts) {
    std::string_view text = part.text;
    while (!part.is_place) {
      const auto cut = text.find(url.query.empty() ? '?' : '&');
      if (cut == std::string_view::npos) break;
      add(false, text.substr(0, cut));
      url.query.emplace_back();
      text.remove_prefix(cut + 1);
    }
    add(part.is_place, text);
  }
  return url;
}

bool is_one_place_parameter(const std::vector<TemplatePart>& parameter) {
  return parameter.size() == 2 && !parameter[0].is_place && parameter[1].is_place &&
         parameter[0].text.find('=') == parameter[0].text.size() - 1;
}

}  // namespace ratchet
