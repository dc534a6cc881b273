// Rows of experiments/reference/dp-golden.csv.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace retort::privacy {

class GoldenRow {
 public:
  explicit GoldenRow(std::map<std::string, std::string> cells) : cells_(std::move(cells)) {}
  [[nodiscard]] const std::string& Text(const std::string& column) const { return cells_.at(column); }
  [[nodiscard]] bool Has(const std::string& column) const { return !cells_.at(column).empty(); }
  // The cell as a number; "sqrt(2)" is understood. Throws std::invalid_argument for anything else.
  [[nodiscard]] double Number(const std::string& column) const;
  // The number behind `name` and "=" in a cell's prose: Named("extra", "sigma").
  [[nodiscard]] double Named(const std::string& column, const std::string& name) const;

 private:
  std::map<std::string, std::string> cells_;
};

[[nodiscard]] std::vector<GoldenRow> ReadGoldenRows(const std::string& path);

}  // namespace retort::privacy
