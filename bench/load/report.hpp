#pragma once
// Rows of named figures, as a table for people (Markdown, to be kept in the README) or as JSON.

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ratchet::bench {

class Row {
 public:
  void add(std::string name, std::string text);
  void add(std::string name, double number, int decimals);

  const std::vector<std::pair<std::string, std::string>>& cells() const { return cells_; }

  std::string to_json() const;

 private:
  std::vector<std::pair<std::string, std::string>> cells_;
  std::vector<bool> numeric_;
};

class Report {
 public:
  Report(std::string scenario, Row conditions)
      : scenario_(std::move(scenario)), conditions_(std::move(conditions)) {}

  /// Rows of one report have the same columns.
  void add(Row row) { rows_.push_back(std::move(row)); }

  std::string to_markdown() const;
  std::string to_json() const;

 private:
  std::string scenario_;
  Row conditions_;
  std::vector<Row> rows_;
};

}  // namespace ratchet::bench
