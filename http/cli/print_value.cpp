// Replies of the API as lines for people.

#include <ostream>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "http/cli/print.hpp"

namespace ratchet::cli {

namespace {

namespace json = boost::json;

std::string scalar(const json::value& value) {
  if (value.is_null()) return "-";
  return harmless(value.is_string() ? std::string(value.get_string()) : json::serialize(value));
}

bool is_flat(const json::value& value) {
  if (const auto* array = value.if_array()) return array->empty();
  if (const auto* object = value.if_object()) return object->empty();
  return true;
}

void print_lines(std::ostream& out, const json::value& value, const std::string& indent) {
  const auto entry = [&](const std::string& head, const json::value& inner) {
    out << indent << head;
    if (is_flat(inner)) {
      auto text = inner.is_structured() ? "-" : scalar(inner);
      for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; ++at)
        text.replace(at, 1, "\n" + indent + "  ");
      out << " " << text << "\n";
    } else {
      out << "\n";
      print_lines(out, inner, indent + "  ");
    }
  };
  if (const auto* object = value.if_object()) {
    for (const auto& [key, inner] : *object)
      entry(harmless(key) + ":", inner);
  } else if (const auto* array = value.if_array()) {
    for (const auto& inner : *array)
      entry("-", inner);
  } else {
    out << indent << scalar(value) << "\n";
  }
}

std::string field(const json::value& row, const char* name) {
  const auto* object = row.if_object();
  const auto* value = object == nullptr ? nullptr : object->if_contains(name);
  return value == nullptr ? "-" : scalar(*value);
}

/// Anything that is no JSON is printed as it came, so that nothing is hidden.
bool parse(std::ostream& out, const std::string& text, json::value& value) {
  boost::system::error_code error;
  value = json::parse(text, error);
  if (error) out << harmless(text) << "\n";
  return !error;
}

}  // namespace

void print_value(std::ostream& out, const std::string& text) {
  json::value value;
  if (parse(out, text, value)) print_lines(out, value, "");
}

namespace {

/// The items of a page, each as `line` makes it, below `head`.
template <class Line>
void print_page(std::ostream& out, const std::string& text, const std::string& head, const Line& line) {
  json::value value;
  if (!parse(out, text, value)) return;
  const auto* object = value.if_object();
  const auto* items = object == nullptr ? nullptr : object->if_contains("items");
  if (items == nullptr || !items->is_array()) return print_lines(out, value, "");
  out << head;
  for (const auto& row : items->get_array())
    out << line(row);
  if (const auto next = field(value, "next_cursor"); next != "-") out << "more: --cursor " << next << "\n";
}

}  // namespace

void print_runs(std::ostream& out, const std::string& text) {
  const auto columns = [](auto... words) {
    return fmt::format("{:<30}  {:<8}  {:<16}  {:<20}  {:>5}  {}\n", words...);
  };
  const auto head = columns("RUN", "STATUS", "STOPPED BY", "AGENT", "STEPS", "CREATED");
  print_page(out, text, head, [&](const json::value& row) {
    return columns(field(row, "run_id"),
                   field(row, "status"),
                   field(row, "stop_reason"),
                   field(row, "agent_id") + " " + field(row, "agent_version"),
                   field(row, "step"),
                   field(row, "created_at"));
  });
}

void print_approvals(std::ostream& out, const std::string& text) {
  const auto columns = [](auto... words) {
    return fmt::format("{:<30}  {:<30}  {:<8}  {:<20}  {:<27}  {}\n", words...);
  };
  const auto head = columns("RUN", "APPROVAL", "STATUS", "TOOL", "EXPIRES", "ARGUMENTS");
  print_page(out, text, head, [&](const json::value& row) {
    return columns(field(row, "run_id"),
                   field(row, "approval_id"),
                   field(row, "status"),
                   field(row, "tool"),
                   field(row, "expires_at"),
                   field(row, "args"));
  });
}

}  // namespace ratchet::cli
