#include "runtime/tools/schema/faults.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/json/dom.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"
#include "runtime/pointer.hpp"

namespace ratchet::schema {

namespace {

constexpr std::size_t faults_told = 3;

}  // namespace

std::string Place::pointer() const {
  if (!parent) return "";
  return pointer_to(parent->pointer(), is_index ? std::to_string(index) : std::string(key));
}

std::size_t Place::depth() const {
  std::size_t depth = 0;
  for (const Place* at = parent; at; at = at->parent)
    ++depth;
  return depth;
}

std::string cut(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  return std::string(text.substr(0, utf8_cut(text, bytes_max))) + "…";
}

std::string expected(const Node& node) {
  const Node* at = &node;  // no circle: in_place.hpp
  while (!at->types && !at->choices && !at->constant && at->in_place) {
    const auto& all = at->in_place->all;
    const Child next = at->in_place->ref || all.empty() ? at->in_place->ref : all.front();
    if (!next) break;
    at = next;
  }
  if (const Choices* choices = at->constant ? at->constant.get() : at->choices.get())
    return (choices->values.size() > 1 ? "one of " : "") + cut(choices->text, 120);
  std::string text;
  for (const auto& [type, word, phrase] : type_names)
    if (at->types & type) text.append(text.empty() ? "" : " or ").append(phrase);
  return text.empty() ? "a value" : text;
}

std::string Faults::shown(const boost::json::value& given) const {
  if (values_ == Values::named || given.is_object() || given.is_array()) return std::string(kind_name(given));
  std::string json;
  append_json(json, given);
  return given.is_string() ? "the string " + cut(json, 40) : cut(json, 40);
}

void Faults::push(const Place& place, std::string text, std::string expected) {
  if (is_full()) return;
  const std::string pointer = place.pointer();
  Fault fault{place.depth(),
              pointer.empty() ? "the arguments" : cut(pointer, 80),
              std::move(text),
              std::move(expected)};
  // Schemas that say the same twice, as an allOf may, need not be told twice.
  for (const Fault& each : faults_)
    if (each.where == fault.where && each.text == fault.text) return;
  faults_.push_back(std::move(fault));
}

void Faults::add(const Place& place, std::string_view text) {
  push(place, std::string(text), {});
}

void Faults::add_wrong_value(const Place& place, std::string expected, const boost::json::value& given) {
  push(place, fmt::format("expected {}, found {}", expected, shown(given)), expected);
}

void Faults::add_no_form(const Place& place,
                         const std::vector<Faults>& forms,
                         const boost::json::value& given) {
  const std::size_t depth = place.depth();
  std::string together;
  const Faults* nearest = nullptr;
  bool all_want_another = true;
  for (const Faults& form : forms) {
    if (form.empty()) continue;
    const Fault& first = form.faults_.front();
    const bool wants_another = first.depth == depth && !first.expected.empty();
    all_want_another = all_want_another && wants_another;
    if (wants_another && together.find(first.expected) == std::string::npos)
      together.append(together.empty() ? "" : " or ").append(first.expected);
    if (!nearest || form.distance(depth) < nearest->distance(depth)) nearest = &form;
  }
  if (!nearest) return add(place, "fits none of the forms that are allowed here");
  if (all_want_another) return add_wrong_value(place, cut(together, 160), given);
  const Fault& fault = nearest->faults_.front();
  add(place,
      fmt::format("fits none of {} forms; the nearest is missed by: {}: {}",
                  forms.size(),
                  fault.where,
                  cut(fault.text, 200)));
}

std::size_t Faults::distance(std::size_t depth) const {
  // A form for another kind of value is far away, and so is one that a property tells apart by its value.
  std::size_t distance = faults_.size();
  for (const Fault& fault : faults_) {
    if (fault.expected.empty()) continue;
    if (fault.depth == depth) distance += 100;
    if (fault.depth == depth + 1 && fault.expected.find_first_of("\"0123456789") != std::string::npos)
      distance += 10;
  }
  return distance;
}

bool Faults::is_full() const {
  return faults_.size() > faults_told;
}

std::string Faults::message() const {
  std::string text;
  for (std::size_t i = 0; i < std::min(faults_.size(), faults_told); ++i)
    text.append(i ? "; " : "").append(faults_[i].where).append(": ").append(faults_[i].text);
  return cut(text + (is_full() ? "; and more" : ""), limits::schema_message_bytes_max - 3);
}

}  // namespace ratchet::schema
