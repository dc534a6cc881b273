#include "orchestrator/cli/table_matrix.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "orchestrator/cli/number_text.h"
#include "orchestrator/cli/table_format.h"

namespace retort::orchestrator::cli {
namespace {

MatrixCell CellOf(const TableCell& cell, const ResultTable& table, Notes& notes) {
  MatrixCell out;
  out.planned = true;
  out.quoted = cell.state == CellState::quoted;
  out.best = cell.best;
  out.best_published = cell.best_published;
  if (!out.quoted) {
    out.measured = MeasuredText(cell.summary, table.spec.metric);
    if (cell.state == CellState::partial) out.measured += ", " + SeedsText(cell.summary, cell.planned, cell.failed);
    if (table.smoke) out.measured += ", smoke";
  }
  if (cell.published) out.published = PublishedText(*cell.published, table.spec.metric);
  out.marks = MarksOf(cell.notes, notes);
  return out;
}

// Places of one key's values: numbers by size and no value last, where all values are numbers; else as they come.
std::map<std::string, double> PlacesOf(const std::vector<std::vector<std::string>>& columns, std::size_t key) {
  std::map<std::string, double> numbers, places;
  for (const auto& column : columns) {
    const std::optional<double> number =
        column[key].empty() ? std::numeric_limits<double>::infinity() : NumberIn(column[key]);
    if (number) numbers.emplace(column[key], *number);
    places.emplace(column[key], static_cast<double>(places.size()));
  }
  return numbers.size() == places.size() ? numbers : places;
}

}  // namespace

std::vector<std::vector<std::string>> ColumnsOf(const ResultTable& table) {
  std::vector<std::vector<std::string>> columns;
  std::set<std::vector<std::string>> seen;
  for (const TableCell& cell : table.cells)
    if (seen.insert(cell.column).second) columns.push_back(cell.column);
  if (columns.empty()) return columns;
  std::vector<std::map<std::string, double>> places;
  for (std::size_t key = 0; key < columns.front().size(); ++key) places.push_back(PlacesOf(columns, key));
  const auto place_of = [&places](const std::vector<std::string>& column) {
    std::vector<double> at;
    for (std::size_t key = 0; key < places.size(); ++key) at.push_back(places[key].at(column[key]));
    return at;
  };
  std::ranges::stable_sort(columns, {}, place_of);
  return columns;
}

std::string ColumnName(const ResultTable& table, const std::vector<std::string>& column) {
  std::string name;
  for (std::size_t i = 0; i < column.size(); ++i)
    name += (i == 0 ? "" : ", ") + table.spec.columns[i] + " = " + (column[i].empty() ? "–" : column[i]);
  return name;
}

Matrix MatrixOf(const ResultTable& table, Notes& notes) {
  Matrix matrix;
  matrix.header = table.spec.rows;
  std::map<std::vector<std::string>, std::size_t> place;
  for (const auto& column : ColumnsOf(table)) {
    place.emplace(column, place.size());
    matrix.header.push_back(ColumnName(table, column));
  }
  for (const TableCell& cell : table.cells) {
    if (matrix.rows.empty() || matrix.rows.back().keys != cell.row)
      matrix.rows.push_back({cell.row, std::vector<MatrixCell>(place.size())});
    MatrixCell& at = matrix.rows.back().cells[place.at(cell.column)];
    if (!at.planned) at = CellOf(cell, table, notes);
  }
  return matrix;
}

}  // namespace retort::orchestrator::cli
