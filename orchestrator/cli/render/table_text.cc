#include "orchestrator/cli/render/table_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "experiments/base/number_text.h"
#include "orchestrator/cli/render/claim_text.h"
#include "orchestrator/cli/render/text_table.h"
#include "orchestrator/cli/render/version.h"
#include "orchestrator/results/tables/table_lines.h"

namespace retort::orchestrator::cli {
namespace {

MatrixCell MakeCell(const TableCell& cell, const ResultTable& table, Notes& notes) {
  MatrixCell out;
  out.planned = true;
  out.quoted = cell.state == CellState::quoted;
  out.best = cell.best;
  out.best_published = cell.best_published;
  if (!out.quoted) {
    out.measured = FormatMeasured(cell.summary, table.spec.metric);
    if (cell.state == CellState::partial) out.measured += ", " + FormatSeeds(cell.summary, cell.planned, cell.failed);
    if (table.smoke) out.measured += ", smoke";
  }
  if (cell.published) out.published = FormatPublished(*cell.published, table.spec.metric);
  out.marks = FormatMarks(cell.notes, notes);
  return out;
}

// Places of one key's values: numbers by size and no value last, where all values are numbers; else as they come.
std::map<std::string, double> FindPlaces(const std::vector<std::vector<std::string>>& columns, std::size_t key) {
  std::map<std::string, double> numbers, places;
  for (const auto& column : columns) {
    const std::optional<double> number =
        column[key].empty() ? std::numeric_limits<double>::infinity() : ParseFiniteNumber(column[key]);
    if (number) numbers.emplace(column[key], *number);
    places.emplace(column[key], static_cast<double>(places.size()));
  }
  return numbers.size() == places.size() ? numbers : places;
}

}  // namespace

std::vector<std::vector<std::string>> FindColumns(const ResultTable& table) {
  std::vector<std::vector<std::string>> columns;
  std::set<std::vector<std::string>> seen;
  for (const TableCell& cell : table.cells)
    if (seen.insert(cell.column).second) columns.push_back(cell.column);
  if (columns.empty()) return columns;
  std::vector<std::map<std::string, double>> places;
  for (std::size_t key = 0; key < columns.front().size(); ++key) places.push_back(FindPlaces(columns, key));
  const auto place_of = [&places](const std::vector<std::string>& column) {
    std::vector<double> at;
    for (std::size_t key = 0; key < places.size(); ++key) at.push_back(places[key].at(column[key]));
    return at;
  };
  std::ranges::stable_sort(columns, {}, place_of);
  return columns;
}

std::string FormatColumnName(const ResultTable& table, const std::vector<std::string>& column) {
  std::string name;
  for (std::size_t i = 0; i < column.size(); ++i)
    name += (i == 0 ? "" : ", ") + table.spec.columns[i] + " = " + (column[i].empty() ? "–" : column[i]);
  return name;
}

Matrix MakeMatrix(const ResultTable& table, Notes& notes) {
  Matrix matrix;
  matrix.header = table.spec.rows;
  std::map<std::vector<std::string>, std::size_t> place;
  for (const auto& column : FindColumns(table)) {
    place.emplace(column, place.size());
    matrix.header.push_back(FormatColumnName(table, column));
  }
  for (const TableCell& cell : table.cells) {
    if (matrix.rows.empty() || matrix.rows.back().keys != cell.row)
      matrix.rows.push_back({cell.row, std::vector<MatrixCell>(place.size())});
    MatrixCell& at = matrix.rows.back().cells[place.at(cell.column)];
    if (!at.planned) at = MakeCell(cell, table, notes);
  }
  return matrix;
}

namespace {

std::vector<const std::vector<privacy::Claim>*> AllClaims(const ResultTable& table) {
  std::vector<const std::vector<privacy::Claim>*> all;
  for (const TeacherLine& teacher : table.teachers) all.push_back(&teacher.claims);
  for (const TableCell& cell : table.cells) all.push_back(&cell.claims);
  return all;
}

bool HasFormula(const ResultTable& table) {
  for (const auto* claims : AllClaims(table))
    for (const privacy::Claim& claim : *claims)
      if (claim.status == privacy::ClaimStatus::paper_formula) return true;
  return false;
}

// One statement for each distinct one among the cells in the working reading.
void AddWorkingStatements(const ResultTable& table, std::vector<std::string>& legend) {
  std::set<std::string> said;
  for (const TableCell& cell : table.cells) {
    std::string statement = cell.working.empty() ? "" : FormatWorkingStatement(cell.working, cell.claims);
    if (!statement.empty() && said.insert(statement).second) legend.push_back(std::move(statement));
  }
}

template <typename Predicate>
bool AnyCell(const ResultTable& table, Predicate predicate) {
  return std::any_of(table.cells.begin(), table.cells.end(), predicate);
}

// Spread, intervals, what is best and what is only a rehearsal.
void AddMeasurements(const ResultTable& table, std::vector<std::string>& legend) {
  if (AnyCell(table, [](const TableCell& cell) { return cell.summary.n > 1; })) {
    legend.emplace_back("±: sample standard deviation over n seeds.");
    legend.push_back(std::string("seeds: 95 % interval of the mean over seeds (") +
                     (table.spec.interval == retort::Interval::bootstrap ? "bootstrap percentiles" : "Student t") +
                     ").");
  }
  std::set<std::int64_t> sizes;
  for (const TableCell& cell : table.cells)
    if (cell.test) sizes.insert(cell.test->n);
  std::string examples;
  for (const std::int64_t size : sizes) examples += (examples.empty() ? "" : ", ") + CountText(size);
  if (!sizes.empty())
    legend.push_back("test: 95 % interval of the mean for its " + examples +
                     " test examples (binomial, Wilson); what other seeds would give is not in it.");
  if (AnyCell(table, [](const TableCell& cell) { return cell.best; }))
    legend.emplace_back(
        "Bold or *: the best measured mean of a column at the same ε asked for; rows whose ε for an example is "
        "proven compare among themselves, and so do rows whose ε is a label's.");
  if (table.smoke) legend.emplace_back("smoke: run with --profile smoke, at a size that only shows that it works.");
}

void AddPublished(const ResultTable& table, std::vector<std::string>& legend) {
  if (AnyCell(table, [](const TableCell& cell) { return cell.best_published; }))
    legend.emplace_back(
        "Italic or °: the best published value of a column at the same ε; those of labels compare among themselves.");
  if (AnyCell(table, [](const TableCell& cell) { return cell.state == CellState::quoted; }))
    legend.emplace_back("quoted: as published; not run here.");
  if (AnyCell(table, [](const TableCell& cell) { return cell.published.has_value(); }))
    legend.push_back("published: " + table.spec.published +
                     ", at the paper's own ε, which is its formula's and not a proven one.");
  else if (!table.spec.published.empty())
    legend.push_back("No value of " + table.spec.published +
                     " is for the data set, method, ε and setting of these rows.");
}

}  // namespace

std::string FormatMarks(const std::vector<std::string>& footnotes, Notes& notes) {
  std::string marks;
  for (const std::string& footnote : footnotes) marks += " " + notes.Mark(footnote);
  return marks;
}

bool RestsOn(const ResultTable& table, std::string_view assumption) {
  for (const auto* claims : AllClaims(table))
    for (const privacy::Claim& claim : *claims)
      if (std::find(claim.assumptions.begin(), claim.assumptions.end(), assumption) != claim.assumptions.end())
        return true;
  return false;
}

std::vector<std::string> MakeLegend(const ResultTable& table) {
  std::vector<std::string> legend;
  if (HasFormula(table)) legend.emplace_back("†: the paper's formula at this run's parameters; not a guarantee.");
  std::set<privacy::Adjacency> seen;
  for (const auto* claims : AllClaims(table))
    for (const privacy::Claim& claim : *claims)
      if (seen.insert(claim.adjacency).second) legend.push_back(FormatAdjacencyLegend(claim.adjacency) + ".");
  AddWorkingStatements(table, legend);
  legend.insert(legend.end(), table.settings.begin(), table.settings.end());
  if (!seen.empty())
    legend.emplace_back(
        "Each ε is of one trial (the worst of its seeds). `status` shows what all trials together cost a data set.");
  if (RestsOn(table, privacy::kAssumeHiddenDraws))
    legend.emplace_back(
        "An ε by selection-profile or selection-rdp is that of a private selection: how the settings of its row were "
        "chosen is in it, as long as nobody sees the candidates that were not (`unselected-hidden`).");
  if (RestsOn(table, privacy::kAssumeValidationApart))
    legend.emplace_back(
        "`validation-apart-by-index`: they were compared on private examples that no training saw, with noise; the ε "
        "holds for these examples and for those of the training.");
  legend.insert(legend.end(), table.search.begin(), table.search.end());
  AddMeasurements(table, legend);
  AddPublished(table, legend);
  for (const std::string& warning : table.warnings) legend.push_back("Warning: " + warning);
  if (table.running) legend.emplace_back("The sweep is running: this is what has finished so far.");
  legend.insert(legend.end(), table.statements.begin(), table.statements.end());
  return legend;
}

namespace {

const std::vector<std::string> kClaimHeader = {"protects", "neighbours", "δ", "ε", "basis"};

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
      AddBlock(text, keys, MakeEntry(line, table_), notes, compact);
    }
    return text;
  }

  [[nodiscard]] TextTable Cells(const std::vector<std::string>& column, Notes& notes, bool compact) const {
    TextTable text(Header(table_.spec.rows, table_.spec.metric), Alignment(table_.spec.rows.size()));
    bool first = true;
    for (const TableCell* cell : columns_.at(column)) {
      if (!std::exchange(first, false)) text.AddRule();
      AddBlock(text, cell->row, MakeEntry(*cell, table_), notes, compact);
    }
    return text;
  }

  [[nodiscard]] std::string Matrix(Notes& notes) const {
    const cli::Matrix matrix = MakeMatrix(table_, notes);
    TextTable text(matrix.header);
    for (const cli::Matrix::Row& row : matrix.rows) {
      std::vector<std::string> line;
      for (const std::string& key : row.keys) line.push_back(FormatTextOrDash(key));
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
      for (const std::string& key : keys) line.push_back(i == 0 ? FormatTextOrDash(key) : "");
      line.push_back(i < measured.size() ? measured[i] : "");
      if (i < claims.size()) {
        ClaimCells cells = MakeClaimCells(claims[i], notes, compact);
        for (std::string* cell : {&cells.protects, &cells.neighbours, &cells.delta, &cells.epsilon, &cells.basis})
          line.push_back(std::move(*cell));
      }
      text.Add(std::move(line));
    }
  }

  [[nodiscard]] std::vector<std::string> MeasuredLines(const TableEntry& entry, Notes& notes) const {
    const std::string& metric = table_.spec.metric;
    std::string published;
    if (entry.published)
      published = FormatPublished(*entry.published, metric) + (entry.best_published ? "°" : "") +
                  FormatMarks(*entry.notes, notes);
    if (entry.state == CellState::quoted) return {"quoted " + published};
    std::vector<std::string> lines = {
        Best(FormatMeasured(*entry.summary, metric), entry.best, bold_),
        FormatSeeds(*entry.summary, entry.planned, entry.failed) + (entry.smoke ? ", smoke" : "")};
    if (const std::string seeds = FormatSeedsInterval(*entry.summary, metric); !seeds.empty())
      lines.push_back("seeds " + seeds);
    if (*entry.test) lines.push_back("test " + FormatInterval({(*entry.test)->low, (*entry.test)->high}, metric));
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
  const auto columns = FindColumns(table);
  if (columns.size() > 1) out += "\nStudents (published value in brackets)\n" + tables.Matrix(notes);
  for (const auto& column : columns) {
    const TextTable cells = tables.Cells(column, notes, compact);
    if (cells.Width() > limit) return std::nullopt;
    const std::string name = FormatColumnName(table, column);
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

std::string FormatTableText(const ResultTable& table, std::size_t width, bool bold) {
  Notes notes;
  std::string out = fmt::format("Table {} of sweep {}\n", table.spec.name, table.sweep);
  out += Body(table, notes, width, bold);
  out += '\n';
  for (std::size_t i = 0; i < notes.texts().size(); ++i)
    out += Wrap(fmt::format("[{}] {}", i + 1, notes.texts()[i]), width, 4) + '\n';
  for (const std::string& line : MakeLegend(table)) out += Wrap(line, width, 2) + '\n';
  out += fmt::format("Specs {}, retort {}\n", table.spec_hash, FormatVersion());
  return out;
}

}  // namespace retort::orchestrator::cli
