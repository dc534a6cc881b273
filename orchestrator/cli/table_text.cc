#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "orchestrator/cli/claim_text.h"
#include "orchestrator/cli/number_text.h"
#include "orchestrator/cli/table_format.h"
#include "orchestrator/cli/text_table.h"
#include "orchestrator/cli/version.h"

namespace retort::orchestrator::cli {
namespace {

const std::vector<std::string> kClaimHeader = {"protects", "neighbours", "δ", "ε", "basis"};

std::string Shown(const std::string& value) { return value.empty() ? "–" : value; }

std::vector<std::string> Header(const std::vector<std::string>& keys, const std::string& metric) {
  std::vector<std::string> header = keys;
  header.push_back(metric);
  header.insert(header.end(), kClaimHeader.begin(), kClaimHeader.end());
  return header;
}

std::vector<Align> Alignment(std::size_t keys) {
  std::vector<Align> align(keys + 4, Align::left);
  align.push_back(Align::right);
  return align;
}

// The keys stand on the first line; measurement and claims run down beside each other.
void AddBlock(TextTable& text, const std::vector<std::string>& keys, const std::vector<std::string>& measured,
              const std::vector<privacy::Claim>& claims, Notes& notes, bool compact) {
  for (std::size_t i = 0; i < std::max({measured.size(), claims.size(), std::size_t{1}}); ++i) {
    std::vector<std::string> line;
    for (const std::string& key : keys) line.push_back(i == 0 ? Shown(key) : "");
    line.push_back(i < measured.size() ? measured[i] : "");
    if (i < claims.size()) {
      ClaimCells cells = CellsOf(claims[i], notes, compact);
      for (std::string* cell :
           {&cells.protects, &cells.neighbours, &cells.delta, &cells.epsilon, &cells.basis})
        line.push_back(std::move(*cell));
    }
    text.Add(std::move(line));
  }
}

std::vector<std::string> Measured(const Summary& summary, int planned, int failed,
                                  const std::optional<double>& published, const std::string& metric) {
  std::vector<std::string> lines = {MeasuredText(summary, metric), SeedsText(summary, planned, failed)};
  if (published) lines.push_back("published " + PublishedText(*published, metric));
  return lines;
}

std::vector<std::string> MeasuredLines(const TableCell& cell, const std::string& metric) {
  if (cell.state == CellState::quoted) return {"quoted " + PublishedText(cell.published.value_or(0), metric)};
  return Measured(cell.summary, cell.planned, cell.failed, cell.published, metric);
}

TextTable TeacherTable(const ResultTable& table, Notes& notes, bool compact) {
  TextTable text(Header({"teacher", "method", "network"}, table.spec.metric), Alignment(3));
  for (std::size_t i = 0; i < table.teachers.size(); ++i) {
    const TeacherLine& line = table.teachers[i];
    if (i > 0) text.AddRule();
    AddBlock(text, {line.name, line.method, line.network},
             Measured(line.summary, line.planned, line.failed, line.published, table.spec.metric),
             line.claims, notes, compact);
  }
  return text;
}

TextTable CellTable(const ResultTable& table, const std::vector<std::string>& column, Notes& notes,
                    bool compact) {
  TextTable text(Header(table.spec.rows, table.spec.metric), Alignment(table.spec.rows.size()));
  bool first = true;
  for (const TableCell& cell : table.cells) {
    if (cell.column != column) continue;
    if (!std::exchange(first, false)) text.AddRule();
    AddBlock(text, cell.row, MeasuredLines(cell, table.spec.metric), cell.claims, notes, compact);
  }
  return text;
}

std::vector<std::vector<std::string>> ColumnsOf(const ResultTable& table) {
  std::vector<std::vector<std::string>> columns;
  for (const TableCell& cell : table.cells)
    if (std::find(columns.begin(), columns.end(), cell.column) == columns.end())
      columns.push_back(cell.column);
  return columns;
}

std::string ColumnName(const ResultTable& table, const std::vector<std::string>& column) {
  std::string name;
  for (std::size_t i = 0; i < column.size(); ++i)
    name += (i == 0 ? "" : ", ") + table.spec.columns[i] + " = " + Shown(column[i]);
  return name;
}

// The measurements alone, rows against columns, as the papers print them.
std::string Matrix(const ResultTable& table, const std::vector<std::vector<std::string>>& columns) {
  std::vector<std::string> header = table.spec.rows;
  for (const auto& column : columns) header.push_back(ColumnName(table, column));
  TextTable text(header);
  std::vector<std::vector<std::string>> rows;
  for (const TableCell& cell : table.cells)
    if (rows.empty() || rows.back() != cell.row) rows.push_back(cell.row);
  for (const auto& row : rows) {
    std::vector<std::string> line;
    for (const std::string& key : row) line.push_back(Shown(key));
    for (const auto& column : columns) {
      const auto cell = std::find_if(table.cells.begin(), table.cells.end(),
                                     [&](const TableCell& c) { return c.row == row && c.column == column; });
      if (cell == table.cells.end()) {
        line.emplace_back("–");
        continue;
      }
      std::string value = MeasuredText(*cell, table.spec.metric);
      if (cell->published) value += " (" + PublishedText(*cell->published, table.spec.metric) + ")";
      line.push_back(value);
    }
    text.Add(line);
  }
  return text.Render();
}

std::string Body(const ResultTable& table, Notes& notes, std::size_t width) {
  const auto columns = ColumnsOf(table);
  // Wide tables move the accountants into the notes, all blocks alike.
  bool compact = false;
  Notes scratch;
  if (!table.teachers.empty()) compact = TeacherTable(table, scratch, false).Width() > width;
  for (const auto& column : columns)
    compact = compact || CellTable(table, column, scratch, false).Width() > width;
  std::string out;
  if (!table.teachers.empty()) out += "\nTeachers\n" + TeacherTable(table, notes, compact).Render();
  if (columns.size() > 1) out += "\nStudents (published value in brackets)\n" + Matrix(table, columns);
  for (const auto& column : columns) {
    const std::string name = ColumnName(table, column);
    out += "\nStudents" + (name.empty() ? "" : ", " + name) + "\n" +
           CellTable(table, column, notes, compact).Render();
  }
  return out;
}

}  // namespace

std::string TableAsText(const ResultTable& table, std::size_t width) {
  Notes notes;
  std::string out = fmt::format("Table {} of sweep {}\n", table.spec.name, table.sweep);
  out += Body(table, notes, width);
  out += '\n';
  for (std::size_t i = 0; i < notes.texts().size(); ++i)
    out += Wrap(fmt::format("[{}] {}", i + 1, notes.texts()[i]), width, 4) + '\n';
  for (const std::string& line : LegendOf(table)) out += Wrap(line, width, 2) + '\n';
  out += fmt::format("Specs {}, retort {}\n", table.spec_hash, VersionText());
  return out;
}

}  // namespace retort::orchestrator::cli
