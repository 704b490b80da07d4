#include <algorithm>
#include <bit>
#include <numeric>

#include <fmt/format.h>

#include "runtime/tools/schema/check.hpp"

namespace ratchet::schema {

namespace {

std::string fitting_items(const Node& node) {
  const std::string what = expected(node);
  return what == "a value" ? "fitting items" : "fitting items (" + what + ")";
}

}  // namespace

bool Checker::item(const Node& node, std::size_t index, const Subject& subject) {
  const Place place{&subject.place, {}, index, true};
  return fits(node, {subject.given.get_array()[index], place, nullptr, subject.faults});
}

bool Checker::array(const ArrayRules& rules, const Subject& subject) {
  const auto& items = subject.given.get_array();
  Verdict verdict{subject};
  if (!verdict.add(count(items.size(), rules.size, "items", subject))) return false;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Child child = i < rules.prefix.size() ? rules.prefix[i] : rules.items;
    if (!child) break;
    if (!verdict.add(item(*child, i, subject))) return false;
    if (subject.evaluated) subject.evaluated->add(i);
  }
  if (rules.contains && !verdict.add(contains(rules, subject))) return false;
  if (rules.unique) verdict.add(unique(subject));
  return verdict.fits;
}

bool Checker::contains(const ArrayRules& rules, const Subject& subject) {
  SizeRange range = rules.contained;
  if (!range.min) range.min = 1;
  std::size_t found = 0;
  for (std::size_t i = 0; i < subject.given.get_array().size(); ++i) {
    if (!item(*rules.contains, i, subject.as(nullptr, nullptr))) continue;
    ++found;
    if (subject.evaluated) subject.evaluated->add(i);
  }
  if (gave_up()) return false;
  return count(found, range, subject.faults ? fitting_items(*rules.contains) : "", subject);
}

bool Checker::unique(const Subject& subject) {
  const auto& items = subject.given.get_array();
  if (!spend(items.size() * std::bit_width(items.size()))) return false;
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::size_t steps = 0;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return compare_values(items[a], items[b], steps) < 0;
  });
  const auto twin = std::adjacent_find(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return compare_values(items[a], items[b], steps) == 0;
  });
  if (!spend(steps)) return false;
  if (twin == order.end()) return true;
  const auto [first, second] = std::minmax(*twin, *(twin + 1));
  return subject.faults &&
         fault(
             subject,
             fmt::format("expected items that all differ; number {} and number {} are equal", first, second));
}

bool Checker::unevaluated_items(const ArrayRules& rules, const Subject& subject) {
  Verdict verdict{subject};
  for (std::size_t i = 0; i < subject.given.get_array().size(); ++i) {
    if (!spend(1)) return false;
    if (subject.evaluated->has(i)) continue;
    if (!verdict.add(item(*rules.unevaluated, i, subject))) return false;
    subject.evaluated->add(i);
  }
  return verdict.fits;
}

}  // namespace ratchet::schema
