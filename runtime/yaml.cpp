#include "runtime/yaml.hpp"

#include <algorithm>
#include <sstream>
#include <unordered_set>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "runtime/json/canonical.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/json/writer.hpp"
#include "runtime/limits.hpp"
#include "runtime/pointer.hpp"

namespace ratchet {

namespace {

TextPosition position_of(const YAML::Mark& mark) {
  return {static_cast<std::uint32_t>(mark.line + 1), static_cast<std::uint32_t>(mark.column + 1)};
}

std::string in_front(TextPosition position, std::string_view text) {
  return fmt::format("line {}, column {}: {}", position.line, position.column, text);
}

/// Ends the parse from inside of a callback, the only way that yaml-cpp knows. Caught in `parse_yaml`.
[[noreturn]] void refuse(const YAML::Mark& mark, const std::string& why) {
  throw YAML::ParserException(mark, why);
}

bool looks_like_number(std::string_view text) {
  const auto digits = [&] {
    const auto count = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(count);
    return count;
  };
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.starts_with('0'))
    text.remove_prefix(1);
  else if (digits() == 0)
    return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (digits() == 0) return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (digits() == 0) return false;
  }
  return text.empty();
}

/// What yaml-cpp would take silently: bytes that are no UTF-8, and control characters, of which it takes
/// U+0004 for the end of the file.
Result<void> check_characters(std::string_view yaml) {
  TextPosition position;
  for (std::size_t at = 0; at < yaml.size();) {
    const auto byte = static_cast<unsigned char>(yaml[at]);
    const bool control = (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7F;
    const auto length = utf8_length(yaml.substr(at));
    if (length == 0) return fail(ErrorCode::invalid_yaml, in_front(position, "the text is not valid UTF-8"));
    if (control)
      return fail(ErrorCode::invalid_yaml,
                  in_front(position, fmt::format("the control character U+{:04X} has to be escaped", byte)));
    at += length;
    position.column += static_cast<std::uint32_t>(length);
    if (byte == '\n') position = {position.line + 1, 1};
  }
  return {};
}

/// Directives could change what the document means, and yaml-cpp skips those it does not know.
bool begins_with_directive(std::string_view yaml) {
  while (true) {
    const auto begin = yaml.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return false;
    if (yaml[begin] != '#') return yaml[begin] == '%';
    const auto end = yaml.find('\n', begin);
    if (end == std::string_view::npos) return false;
    yaml.remove_prefix(end);
  }
}

}  // namespace

/// Writes JSON as the events of the parser come.
class YamlReader final : public YAML::EventHandler {
 public:
  explicit YamlReader(YamlDocument& document) : json_(document.json), places_(document.places_) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) refuse(mark, "the document ends before this, and there can be only one");
  }

  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    begin_value(mark, "?", anchor);
    json_ += "null";
    end_value();
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse(mark, "aliases are not supported: write the value again");
  }

  void OnScalar(const YAML::Mark& mark,
                const std::string& tag,
                YAML::anchor_t anchor,
                const std::string& value) override {
    if (!frames_.empty() && frames_.back().wants_key) return key(mark, tag, anchor, value);
    begin_value(mark, tag == "!" ? "?" : tag, anchor);
    if (tag == "?" && (value == "true" || value == "false"))
      json_ += value;
    else if (tag == "?" && looks_like_number(value))
      number(mark, value);
    else
      append_json_string(json_, value);
    end_value();
  }

  void OnSequenceStart(const YAML::Mark& mark,
                       const std::string& tag,
                       YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, false);
  }

  void OnSequenceEnd() override { close(']'); }

  void OnMapStart(const YAML::Mark& mark,
                  const std::string& tag,
                  YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, true);
  }

  void OnMapEnd() override { close('}'); }

 private:
  /// A map or a sequence that is open.
  struct Frame {
    std::uint32_t place;
    bool is_map;
    bool wants_key;
    std::size_t count = 0;
    std::unordered_set<std::string> keys = {};
  };

  static void check_plain(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != 0) refuse(mark, "anchors are not supported");
    if (tag != "?") refuse(mark, fmt::format("tags are not supported: {}", tag.substr(0, 60)));
  }

  void add_place(const YAML::Mark& mark, std::string key) {
    const std::uint32_t parent = frames_.empty() ? 0 : frames_.back().place;
    place_ = static_cast<std::uint32_t>(places_.size());
    places_.push_back({parent, std::move(key), position_of(mark)});
  }

  void begin_value(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    check_plain(mark, tag, anchor);
    if (frames_.empty()) return add_place(mark, {});
    Frame& frame = frames_.back();
    if (frame.wants_key) refuse(mark, "expected a key, which is text; is a bracket or a quote left open?");
    if (frame.is_map) return;  // its place is that of its key
    if (frame.count > 0) json_ += ',';
    add_place(mark, std::to_string(frame.count++));
  }

  void end_value() {
    if (!frames_.empty()) frames_.back().wants_key = frames_.back().is_map;
  }

  void key(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& name) {
    check_plain(mark, tag == "!" ? "?" : tag, anchor);
    if (tag == "?" && name == "<<") refuse(mark, "merge keys are not supported");
    Frame& frame = frames_.back();
    if (!frame.keys.insert(name).second)
      refuse(mark, fmt::format("the key '{}' comes a second time", name.substr(0, utf8_cut(name, 60))));
    if (frame.count++ > 0) json_ += ',';
    append_json_string(json_, name);
    json_ += ':';
    frame.wants_key = false;
    add_place(mark, name);
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, bool is_map) {
    begin_value(mark, tag, anchor);
    if (frames_.size() == limits::json_depth_max)
      refuse(mark, fmt::format("nested deeper than {} levels", limits::json_depth_max));
    json_ += is_map ? '{' : '[';
    frames_.push_back({place_, is_map, is_map});
  }

  void close(char bracket) {
    frames_.pop_back();
    json_ += bracket;
    end_value();
  }

  /// Numbers that JSON readers would change are refused here, where the line is known.
  void number(const YAML::Mark& mark, const std::string& literal) {
    const auto canonical = canonical_json(literal);
    if (!canonical) {
      const std::string& text = canonical.error().text;
      refuse(mark, text.substr(text.find(": ") + 2));
    }
    json_ += *canonical;
  }

  std::string& json_;
  std::vector<YamlDocument::Place>& places_;
  std::vector<Frame> frames_;
  std::uint32_t place_ = 0;
  int documents_ = 0;
};

TextPosition YamlDocument::locate(std::string_view pointer) const {
  if (places_.empty()) return {};
  const auto steps = split_pointer(pointer);
  std::uint32_t at = 0;
  for (const std::string& step : steps ? *steps : std::vector<std::string>{}) {
    const auto child = std::find_if(places_.begin() + at + 1, places_.end(), [&](const Place& place) {
      return place.parent == at && place.key == step;
    });
    if (child == places_.end()) break;
    at = static_cast<std::uint32_t>(child - places_.begin());
  }
  return places_[at].position;
}

Error YamlDocument::at_line(Error error) const {
  error.text = in_front(locate(error.pointer), error.text);
  return error;
}

Result<YamlDocument> parse_yaml(std::string_view yaml) {
  if (yaml.size() > limits::yaml_bytes_max)
    return fail(ErrorCode::too_large,
                fmt::format("{} bytes of YAML; at most {} are taken", yaml.size(), limits::yaml_bytes_max));
  if (auto checked = check_characters(yaml); !checked) return tl::unexpected(checked.error());
  if (begins_with_directive(yaml))
    return fail(ErrorCode::invalid_yaml, "line 1, column 1: directives (%) are not supported");
  YamlDocument document;
  YamlReader reader(document);
  try {
    std::istringstream stream{std::string(yaml)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(reader)) {
    }
  } catch (const YAML::Exception& exception) {
    return fail(ErrorCode::invalid_yaml, in_front(position_of(exception.mark), exception.msg));
  }
  if (document.json.empty()) document.json = "null";
  return document;
}

Result<std::string> yaml_to_json(std::string_view yaml) {
  auto document = parse_yaml(yaml);
  if (!document) return tl::unexpected(document.error());
  return std::move(document->json);
}

}  // namespace ratchet
