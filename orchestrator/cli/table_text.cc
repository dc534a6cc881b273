#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "orchestrator/cli/claim_text.h"
#include "orchestrator/cli/table_format.h"
#include "orchestrator/cli/table_lines.h"
#include "orchestrator/cli/table_matrix.h"
#include "orchestrator/cli/text_table.h"
#include "orchestrator/cli/version.h"

namespace retort::orchestrator::cli {
namespace {

const std::vector<std::string> kClaimHeader = {"protects", "neighbours", "δ", "ε", "basis"};

std::string Shown(const std::string& value) { return value.empty() ? "–" : value; }

std::string Best(const std::string& text, bool best, bool bold) {
  if (!best) return text;
  return bold ? "\x1b[1m" + text + "\x1b[0m" : text + " *";
}

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

// The tables of one output, which share their footnotes.
class TextTables {
 public:
  TextTables(const ResultTable& table, bool bold) : table_(table), bold_(bold) {
    for (const TableCell& cell : table.cells) columns_[cell.column].push_back(&cell);
  }

  [[nodiscard]] TextTable Teachers(Notes& notes, bool compact) const {
    const bool by_data = TeachersOfSeveralData();
    std::vector<std::string> names = {"teacher", "method", "network"};
    if (by_data) names.emplace_back("data");
    TextTable text(Header(names, table_.spec.metric), Alignment(names.size()));
    bool first = true;
    for (const TeacherLine& line : table_.teachers) {
      if (!std::exchange(first, false)) text.AddRule();
      std::vector<std::string> keys = {line.name, line.method, line.network};
      if (by_data) keys.push_back(line.data);
      AddBlock(text, keys, EntryOf(line, table_), notes, compact);
    }
    return text;
  }

  [[nodiscard]] TextTable Cells(const std::vector<std::string>& column, Notes& notes, bool compact) const {
    TextTable text(Header(table_.spec.rows, table_.spec.metric), Alignment(table_.spec.rows.size()));
    bool first = true;
    for (const TableCell* cell : columns_.at(column)) {
      if (!std::exchange(first, false)) text.AddRule();
      AddBlock(text, cell->row, EntryOf(*cell, table_), notes, compact);
    }
    return text;
  }

  [[nodiscard]] std::string Matrix(Notes& notes) const {
    const cli::Matrix matrix = MatrixOf(table_, notes);
    TextTable text(matrix.header);
    for (const cli::Matrix::Row& row : matrix.rows) {
      std::vector<std::string> line;
      for (const std::string& key : row.keys) line.push_back(Shown(key));
      for (const MatrixCell& cell : row.cells) line.push_back(MatrixText(cell));
      text.Add(std::move(line));
    }
    return text.Render();
  }

 private:
  [[nodiscard]] bool TeachersOfSeveralData() const {
    return std::any_of(table_.teachers.begin(), table_.teachers.end(),
                       [&](const TeacherLine& line) { return line.data != table_.teachers.front().data; });
  }

  // Measurement and claims run down beside each other; the keys stand on the first line.
  void AddBlock(TextTable& text, const std::vector<std::string>& keys, const TableEntry& entry, Notes& notes,
                bool compact) const {
    const std::vector<std::string> measured = MeasuredLines(entry, notes);
    const std::vector<privacy::Claim>& claims = *entry.claims;
    for (std::size_t i = 0; i < std::max(measured.size(), claims.size()); ++i) {
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

  [[nodiscard]] std::vector<std::string> MeasuredLines(const TableEntry& entry, Notes& notes) const {
    const std::string& metric = table_.spec.metric;
    std::string published;
    if (entry.published)
      published = PublishedText(*entry.published, metric) + (entry.best_published ? "°" : "") +
                  MarksOf(*entry.notes, notes);
    if (entry.state == CellState::quoted) return {"quoted " + published};
    std::vector<std::string> lines = {
        Best(MeasuredText(*entry.summary, metric), entry.best, bold_),
        SeedsText(*entry.summary, entry.planned, entry.failed) + (entry.smoke ? ", smoke" : "")};
    if (entry.summary->ci95) lines.push_back("seeds " + IntervalText(*entry.summary->ci95, metric));
    if (*entry.test) lines.push_back("test " + IntervalText({(*entry.test)->low, (*entry.test)->high}, metric));
    if (entry.published) lines.push_back("published " + published);
    return lines;
  }

  [[nodiscard]] std::string MatrixText(const MatrixCell& cell) const {
    if (!cell.planned) return "–";
    const std::string published = cell.published + (cell.best_published ? "°" : "") + cell.marks;
    if (cell.quoted) return "quoted " + published;
    return Best(cell.measured, cell.best, bold_) + (cell.published.empty() ? "" : " (" + published + ")");
  }

  const ResultTable& table_;
  bool bold_;
  std::map<std::vector<std::string>, std::vector<const TableCell*>> columns_;
};

// `compact` moves the accountants of all tables into the notes. Nothing where one of them is wider than
// `limit`.
std::optional<std::string> BodyWithin(std::size_t limit, const ResultTable& table, const TextTables& tables,
                                      bool compact, Notes& notes) {
  std::string out;
  if (!table.teachers.empty()) {
    const TextTable teachers = tables.Teachers(notes, compact);
    if (teachers.Width() > limit) return std::nullopt;
    out += "\nTeachers\n" + teachers.Render();
  }
  const auto columns = ColumnsOf(table);
  if (columns.size() > 1) out += "\nStudents (published value in brackets)\n" + tables.Matrix(notes);
  for (const auto& column : columns) {
    const TextTable cells = tables.Cells(column, notes, compact);
    if (cells.Width() > limit) return std::nullopt;
    const std::string name = ColumnName(table, column);
    out += "\nStudents" + (name.empty() ? "" : ", " + name) + "\n" + cells.Render();
  }
  return out;
}

std::string Body(const ResultTable& table, Notes& notes, std::size_t width, bool bold) {
  const TextTables tables(table, bold);
  if (auto body = BodyWithin(width, table, tables, false, notes)) return *std::move(body);
  notes = Notes();
  return *BodyWithin(std::string::npos, table, tables, true, notes);
}

}  // namespace

std::string TableAsText(const ResultTable& table, std::size_t width, bool bold) {
  Notes notes;
  std::string out = fmt::format("Table {} of sweep {}\n", table.spec.name, table.sweep);
  out += Body(table, notes, width, bold);
  out += '\n';
  for (std::size_t i = 0; i < notes.texts().size(); ++i)
    out += Wrap(fmt::format("[{}] {}", i + 1, notes.texts()[i]), width, 4) + '\n';
  for (const std::string& line : LegendOf(table)) out += Wrap(line, width, 2) + '\n';
  out += fmt::format("Specs {}, retort {}\n", table.spec_hash, VersionText());
  return out;
}

}  // namespace retort::orchestrator::cli
