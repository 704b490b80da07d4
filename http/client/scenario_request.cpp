#include "http/client/scenario_request.hpp"

#include <optional>
#include <utility>

#include <boost/json/value.hpp>
#include <fmt/format.h>
#include <re2/re2.h>

#include "http/client/body_reader.hpp"
#include "runtime/ids.hpp"
#include "runtime/json/dom.hpp"

namespace ratchet {

namespace {

namespace json = boost::json;

constexpr std::string_view opening = "{{", closing = "}}";
constexpr std::string_view result_pattern = "last_result:", number_pattern = "last_number:";

/// The first artifact's id in a text; empty: none.
std::string_view first_artifact(std::string_view text) {
  constexpr std::size_t id_bytes = ArtifactKind::prefix.size() + 26;
  for (auto at = text.find(ArtifactKind::prefix); at != std::string_view::npos;
       at = text.find(ArtifactKind::prefix, at + 1))
    if (parse_id<ArtifactKind>(text.substr(at, id_bytes))) return text.substr(at, id_bytes);
  return {};
}

/// What the first group of the pattern matches, or all of it where it has no group.
bool first_match(std::string_view text, std::string_view pattern, std::string& out) {
  const re2::RE2 whole("(" + std::string(pattern) + ")", re2::RE2::Quiet);
  std::string all, group;
  if (whole.NumberOfCapturingGroups() < 2) return re2::RE2::PartialMatch(text, whole, &out);
  if (!re2::RE2::PartialMatch(text, whole, &all, &group)) return false;
  out = std::move(group);
  return true;
}

const json::value* member(const json::value& object, std::string_view name) {
  return object.is_object() ? object.get_object().if_contains(name) : nullptr;
}

std::string_view text_of(const json::value* value) {
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : std::string_view{};
}

void add_line(std::string& out, std::string_view text) {
  if (text.empty()) return;
  if (!out.empty()) out += '\n';
  out += text;
}

/// The text of a message's content: a string, or a list of blocks.
std::string content_text(const json::value* content) {
  std::string out(text_of(content));
  if (content != nullptr && content->is_array())
    for (const json::value& block : content->get_array())
      add_line(out, text_of(member(block, "text")));
  return out;
}

/// The answers of tools in a message: blocks of a user's (Anthropic), or the message itself (OpenAI).
std::string tool_results(const json::value& message) {
  if (text_of(member(message, "role")) == "tool") return content_text(member(message, "content"));
  std::string out;
  const json::value* content = member(message, "content");
  if (content != nullptr && content->is_array())
    for (const json::value& block : content->get_array())
      if (text_of(member(block, "type")) == "tool_result")
        add_line(out, content_text(member(block, "content")));
  return out;
}

/// Calls `visit(inside)` for each placeholder and `keep(text)` for what stands between; ends where `visit`
/// says false, or at an opening without an end, which is returned as true.
template <class Keep, class Visit>
bool walk(std::string_view text, Keep&& keep, Visit&& visit) {
  for (std::size_t at; (at = text.find(opening)) != std::string_view::npos;) {
    keep(text.substr(0, at));
    text.remove_prefix(at + opening.size());
    const auto end = text.find(closing);
    if (end == std::string_view::npos) return true;
    if (!visit(text.substr(0, end))) return false;
    text.remove_prefix(end + closing.size());
  }
  keep(text);
  return false;
}

std::string pattern_mistake(std::string_view pattern) {
  const re2::RE2 compiled(re2::StringPiece(pattern.data(), pattern.size()), re2::RE2::Quiet);
  return compiled.ok() ? std::string{} : fmt::format("the pattern '{}': {}", pattern, compiled.error());
}

}  // namespace

ScenarioRequest::ScenarioRequest(const Body& body) {
  body_.reserve(body_bytes(body));
  for (const auto& piece : body)
    body_ += *piece;
}

Result<void> ScenarioRequest::read() {
  if (was_read_) return {};
  const auto document = parse_json(body_);
  if (!document) return tl::unexpected(document.error());
  const json::value* messages = member(*document, "messages");
  if (messages == nullptr || !messages->is_array())
    return fail(ErrorCode::invalid_json, "the request has no messages");
  was_read_ = true;
  bool begins_batch = false;
  for (const json::value& message : messages->get_array()) {
    const auto role = text_of(member(message, "role"));
    if (input_.empty() && role == "user") input_ = content_text(member(message, "content"));
    if (role == "assistant") begins_batch = true;
    const auto results = tool_results(message);
    if (results.empty()) continue;
    if (std::exchange(begins_batch, false)) last_result_.clear();
    add_line(last_result_, results);
  }
  return {};
}

Result<std::string> ScenarioRequest::input() {
  return read().map([this] { return input_; });
}

Result<std::string> ScenarioRequest::last_result() {
  return read().map([this] { return last_result_; });
}

Result<std::string> ScenarioRequest::value_of(std::string_view placeholder) {
  if (placeholder == "input_artifact") {
    const auto id = first_artifact(body_);
    if (id.empty()) return fail(ErrorCode::invalid_request, "the request mentions no artifact");
    return std::string(id);
  }
  auto result = last_result();
  if (!result) return result;
  if (placeholder == "last_result") return result;
  if (placeholder == "last_result_artifact") {
    const auto id = first_artifact(*result);
    if (id.empty()) return fail(ErrorCode::invalid_request, "the last result mentions no artifact");
    return std::string(id);
  }
  std::string match;
  const auto pattern = placeholder.substr(placeholder.find(':') + 1);
  if (!first_match(*result, pattern, match))
    return fail(ErrorCode::invalid_request, fmt::format("the last result does not match '{}'", pattern));
  return match;
}

Result<std::string> ScenarioRequest::fill(std::string_view text) {
  std::string out;
  std::optional<Error> error;
  walk(
      text,
      [&](std::string_view kept) { out += kept; },
      [&](std::string_view placeholder) {
        const auto value = value_of(placeholder);
        if (value)
          out += *value;
        else
          error = Error{value.error().code, fmt::format("{{{{{}}}}}: {}", placeholder, value.error().text)};
        return value.has_value();
      });
  if (error) return tl::unexpected(std::move(*error));
  return out;
}

std::string placeholder_mistake(std::string_view text) {
  std::string mistake;
  const bool open = walk(
      text,
      [](std::string_view) {},
      [&](std::string_view inside) {
        if (inside == "input_artifact" || inside == "last_result" || inside == "last_result_artifact")
          return true;
        if (inside.starts_with(result_pattern) || inside.starts_with(number_pattern))
          mistake = pattern_mistake(inside.substr(inside.find(':') + 1));
        else
          mistake = fmt::format(
              "there is no placeholder {{{{{}}}}}; known are input_artifact, last_result, "
              "last_result_artifact, "
              "last_result:PATTERN, last_number:PATTERN",
              inside);
        return mistake.empty();
      });
  if (open) return "'{{' without its '}}'";
  return mistake;
}

bool is_number_placeholder(std::string_view text) {
  return text.starts_with(opening) && text.substr(opening.size()).starts_with(number_pattern) &&
         text.find(closing) == text.size() - closing.size();
}

}  // namespace ratchet
