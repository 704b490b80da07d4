#include "bench/load/report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bench/load/json.hpp"

namespace ratchet::bench {

void Row::add(std::string name, std::string text) {
  cells_.emplace_back(std::move(name), std::move(text));
  numeric_.push_back(false);
}

void Row::add(std::string name, double number, int decimals) {
  cells_.emplace_back(std::move(name), fmt::format("{:.{}f}", number, decimals));
  numeric_.push_back(true);
}

std::string Row::to_json() const {
  std::string out = "{";
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const auto& [name, value] = cells_[i];
    out += fmt::format(
        "{}{}:{}", i == 0 ? "" : ",", json_string(name), numeric_[i] ? value : json_string(value));
  }
  return out + "}";
}

std::string Report::to_markdown() const {
  std::string out = fmt::format("### {}\n\n", scenario_);
  for (const auto& [name, value] : conditions_.cells())
    out += fmt::format("- {}: {}\n", name, value);
  if (rows_.empty()) return out;
  const auto columns = rows_.front().cells().size();
  std::vector<std::size_t> widths(columns);
  for (std::size_t i = 0; i < columns; ++i) {
    widths[i] = rows_.front().cells()[i].first.size();
    for (const auto& row : rows_)
      widths[i] = std::max(widths[i], row.cells()[i].second.size());
  }
  std::string head = "\n|", rule = "|";
  for (std::size_t i = 0; i < columns; ++i) {
    head += fmt::format(" {:>{}} |", rows_.front().cells()[i].first, widths[i]);
    rule += std::string(widths[i] + 1, '-') + ":|";
  }
  out += head + "\n" + rule + "\n";
  for (const auto& row : rows_) {
    out += "|";
    for (std::size_t i = 0; i < columns; ++i)
      out += fmt::format(" {:>{}} |", row.cells()[i].second, widths[i]);
    out += "\n";
  }
  return out;
}

std::string Report::to_json() const {
  std::string out = fmt::format(
      R"({{"scenario":{},"conditions":{},"rows":[)", json_string(scenario_), conditions_.to_json());
  for (std::size_t i = 0; i < rows_.size(); ++i)
    out += (i == 0 ? "" : ",") + rows_[i].to_json();
  return out + "]}\n";
}

}  // namespace ratchet::bench
