// The tables of a sweep: measured beside published beside what is claimed, every epsilon with its labels.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "orchestrator/cli/claim_text.h"
#include "orchestrator/cli/html_table.h"
#include "orchestrator/cli/report_sources.h"
#include "orchestrator/cli/table_format.h"
#include "orchestrator/cli/table_lines.h"
#include "orchestrator/cli/table_matrix.h"

namespace retort::orchestrator::cli {
namespace {

std::string Shown(const std::string& value) { return value.empty() ? "–" : value; }

// One table of one sweep, on its way to HTML.
class TablePart {
 public:
  TablePart(const ResultTable& table, std::string note_prefix)
      : table_(table), note_prefix_(std::move(note_prefix)), entries_(EntriesOf(table)) {
    for (const TableEntry& entry : entries_) published_ = published_ || entry.published;
  }

  void Write(Html& html) {
    if (ColumnsOf(table_).size() > 1) WriteTable(html, MatrixTable());
    WriteTable(html, ClaimTable());
    WriteNotes(html);
  }

 private:
  [[nodiscard]] HtmlTable MatrixTable() {
    Matrix matrix = MatrixOf(table_, notes_);
    HtmlTable out;
    out.caption = fmt::format("{}: {}, rows against columns", table_.spec.name, table_.spec.metric);
    const std::size_t keys = table_.spec.rows.size();
    for (std::size_t i = 0; i < matrix.header.size(); ++i)
      out.columns.push_back({matrix.header[i], i < keys ? HtmlSort::text : HtmlSort::none, i >= keys});
    for (const Matrix::Row& row : matrix.rows) {
      HtmlLine line;
      for (const std::string& key : row.keys) line.push_back({Shown(key)});
      if (!line.empty()) line.front().header = true;
      for (const MatrixCell& cell : row.cells) line.push_back(MatrixHtml(cell));
      out.groups.push_back({std::move(line)});
    }
    return out;
  }

  [[nodiscard]] HtmlCell MatrixHtml(const MatrixCell& cell) const {
    if (!cell.planned) return {"–"};
    HtmlCell out;
    out.text = cell.quoted ? "quoted " : cell.measured;
    out.strong = !cell.quoted && cell.best;
    if (!cell.published.empty()) out.after = cell.quoted ? cell.published : " (" + cell.published + ")";
    out.after_em = cell.best_published;
    out.marks = cell.marks;
    out.note_prefix = note_prefix_;
    return out;
  }

  [[nodiscard]] HtmlTable ClaimTable() {
    HtmlTable out;
    out.caption = fmt::format("{}: {} and every ε with what it protects and whether it is proven",
                              table_.spec.name, table_.spec.metric);
    const std::vector<std::string> keys = KeyNames(table_);
    out.columns.push_back({"role", HtmlSort::text, false, !keys.empty()});
    for (std::size_t i = 0; i < keys.size(); ++i)
      out.columns.push_back({keys[i], HtmlSort::text, false, i > 0});
    out.columns.push_back({table_.spec.metric, HtmlSort::number, true});
    if (published_) out.columns.push_back({"published", HtmlSort::number, true});
    out.columns.push_back({"protects", HtmlSort::none, false, true});
    out.columns.push_back({"ε", HtmlSort::none, true});
    out.columns.push_back({"neighbours", HtmlSort::none, false, true});
    out.columns.push_back({"δ", HtmlSort::none, true, true});
    out.columns.push_back({"basis"});
    for (const TableEntry& entry : entries_) out.groups.push_back(GroupOf(entry, keys));
    return out;
  }

  [[nodiscard]] HtmlGroup GroupOf(const TableEntry& entry, const std::vector<std::string>& keys) {
    HtmlGroup group(std::max<std::size_t>(entry.claims->size(), 1));
    group.front() = Measurement(entry, keys);
    for (HtmlCell& cell : group.front()) cell.lines = group.size();
    for (std::size_t i = 0; i < entry.claims->size(); ++i) AddClaim((*entry.claims)[i], group[i]);
    if (entry.claims->empty())
      for (int i = 0; i < 5; ++i) group.front().push_back({"–"});
    return group;
  }

  [[nodiscard]] HtmlLine Measurement(const TableEntry& entry, const std::vector<std::string>& keys) {
    HtmlLine line = {{entry.role}};
    std::string rest = entry.role;  // of the keys that a narrow page leaves out
    for (std::size_t i = 0; i < entry.keys.size(); ++i) {
      line.push_back({Shown(entry.keys[i])});
      if (i > 0 && !entry.keys[i].empty()) rest += ", " + keys[i] + " " + entry.keys[i];
    }
    if (line.size() > 1) {
      line[1].header = true;
      line[1].sort = line[1].text;
      line[1].narrow = std::move(rest);
    }
    line.push_back(Measured(entry));
    if (!published_) return line;
    line.push_back(entry.published
                       ? NumberCell(PublishedText(*entry.published, table_.spec.metric), *entry.published)
                       : HtmlCell{"–"});
    line.back().em = entry.best_published;
    line.back().marks = MarksOf(*entry.notes, notes_);
    line.back().note_prefix = note_prefix_;
    return line;
  }

  // With what the text table, too, prints below the value.
  [[nodiscard]] HtmlCell Measured(const TableEntry& entry) const {
    const std::string& metric = table_.spec.metric;
    const bool quoted = entry.state == CellState::quoted;
    const std::string text = quoted ? "quoted" : MeasuredText(*entry.summary, metric);
    HtmlCell cell = entry.summary->n > 0 ? NumberCell(text, entry.summary->mean) : HtmlCell{text};
    cell.strong = entry.best;
    if (!quoted)
      cell.below.push_back(SeedsText(*entry.summary, entry.planned, entry.failed) +
                           (entry.smoke ? ", smoke" : ""));
    if (entry.summary->ci95) cell.below.push_back("seeds " + IntervalText(*entry.summary->ci95, metric));
    if (*entry.test)
      cell.below.push_back("test " + IntervalText({(*entry.test)->low, (*entry.test)->high}, metric));
    return cell;
  }

  void AddClaim(const privacy::Claim& claim, HtmlLine& line) {
    const ClaimCells cells = CellsOf(claim, notes_);
    for (const std::string& text : {cells.protects, cells.epsilon, cells.neighbours, cells.delta})
      line.push_back({text});
    line[line.size() - 3].narrow = fmt::format("{}, {}, δ {}", cells.protects, cells.neighbours, cells.delta);
    const std::size_t mark = cells.basis.ends_with(']') ? cells.basis.rfind(" [") : std::string::npos;
    HtmlCell basis{cells.basis.substr(0, mark)};
    if (mark != std::string::npos) basis.marks = cells.basis.substr(mark);
    basis.note_prefix = note_prefix_;
    line.push_back(std::move(basis));
  }

  void WriteNotes(Html& html) const {
    if (!notes_.texts().empty()) {
      const HtmlScope list(html, "ol", {{"class", "notes"}});
      for (std::size_t i = 0; i < notes_.texts().size(); ++i)
        html.Element("li", notes_.texts()[i], {{"id", note_prefix_ + std::to_string(i + 1)}});
    }
    const HtmlScope list(html, "ul", {{"class", "notes"}});
    for (const std::string& sentence : LegendOf(table_)) html.Prose("li", sentence);
    html.Element("li", "Specs " + table_.spec_hash + ".");
  }

  const ResultTable& table_;
  const std::string note_prefix_;
  const std::vector<TableEntry> entries_;
  Notes notes_;
  bool published_ = false;
};

}  // namespace

void WriteTables(Html& html, const ReportSources& sources) {
  const HtmlScope section(html, "section", {{"aria-labelledby", "results"}});
  html.Element("h2", "Results", {{"id", "results"}});
  if (sources.view.trials.empty()) html.Paragraph("No trial is stored yet.");
  for (std::size_t i = 0; i < sources.tables.size(); ++i) {
    html.Element("h3", "Table " + sources.tables[i].spec.name);
    TablePart(sources.tables[i], "note-" + std::to_string(i + 1) + "-").Write(html);
  }
}

}  // namespace retort::orchestrator::cli
