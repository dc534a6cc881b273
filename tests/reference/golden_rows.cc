#include "tests/reference/golden_rows.h"

#include <cmath>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace retort::privacy {
namespace {

std::vector<std::string> SplitCsv(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else if (c != '\r')
      cells.back() += c;
  }
  return cells;
}

}  // namespace

double GoldenRow::Number(const std::string& column) const {
  const std::string& text = Text(column);
  if (text == "sqrt(2)") return std::sqrt(2.0);
  std::size_t read = 0;
  const double value = std::stod(text, &read);
  if (read != text.size()) throw std::invalid_argument(Text("id") + ": not a number: " + text);
  return value;
}

double GoldenRow::Named(const std::string& column, const std::string& name) const {
  const std::string text = " " + Text(column);
  const std::size_t at = text.find(" " + name + "=");
  if (at == std::string::npos) throw std::invalid_argument(Text("id") + ": no " + name + " in: " + text);
  return std::stod(text.substr(at + name.size() + 2));
}

std::vector<GoldenRow> ReadGoldenRows(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> names = SplitCsv(line);
  std::vector<GoldenRow> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = SplitCsv(line);
    if (cells.size() != names.size()) throw std::invalid_argument("golden row of another width: " + line);
    std::map<std::string, std::string> row;
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = cells[i];
    rows.emplace_back(std::move(row));
  }
  return rows;
}

}  // namespace retort::privacy
