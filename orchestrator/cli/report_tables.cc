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
    for (const TableEntry& entry : entries_) {
      seeds_ = seeds_ || entry.summary->ci95;
      test_ = test_ || entry.test->has_value();
      published_ = published_ || entry.published;
    }
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
    out.columns.push_back({"role", HtmlSort::text});
    for (const std::string& name : KeyNames(table_)) out.columns.push_back({name, HtmlSort::text});
    out.columns.push_back({table_.spec.metric, HtmlSort::number, true});
    out.columns.push_back({"n"});
    if (published_) out.columns.push_back({"published", HtmlSort::number, true});
    if (seeds_) out.columns.push_back({"seeds 95 %", HtmlSort::none, true});
    if (test_) out.columns.push_back({"test 95 %", HtmlSort::none, true});
    for (const char* name : {"protects", "neighbours"}) out.columns.push_back({name});
    for (const char* name : {"δ", "ε"}) out.columns.push_back({name, HtmlSort::none, true});
    out.columns.push_back({"basis"});
    for (const TableEntry& entry : entries_) out.groups.push_back(GroupOf(entry));
    return out;
  }

  [[nodiscard]] HtmlGroup GroupOf(const TableEntry& entry) {
    HtmlGroup group(std::max<std::size_t>(entry.claims->size(), 1));
    group.front() = Measurement(entry);
    for (HtmlCell& cell : group.front()) cell.lines = group.size();
    for (std::size_t i = 0; i < entry.claims->size(); ++i) AddClaim((*entry.claims)[i], group[i]);
    if (entry.claims->empty())
      for (int i = 0; i < 5; ++i) group.front().push_back({"–"});
    return group;
  }

  [[nodiscard]] HtmlLine Measurement(const TableEntry& entry) {
    const std::string& metric = table_.spec.metric;
    const bool quoted = entry.state == CellState::quoted;
    HtmlLine line = {{entry.role}};
    for (const std::string& key : entry.keys) line.push_back({Shown(key)});
    if (line.size() > 1) line[1].header = true;
    const std::string measured = quoted ? "quoted" : MeasuredText(*entry.summary, metric);
    line.push_back(entry.summary->n > 0 ? NumberCell(measured, entry.summary->mean) : HtmlCell{measured});
    line.back().strong = entry.best;
    line.push_back({SeedsText(*entry.summary, entry.planned, entry.failed) + (entry.smoke ? ", smoke" : "")});
    if (published_) {
      line.push_back(entry.published ? NumberCell(PublishedText(*entry.published, metric), *entry.published)
                                     : HtmlCell{"–"});
      line.back().em = entry.best_published;
      line.back().marks = MarksOf(*entry.notes, notes_);
      line.back().note_prefix = note_prefix_;
    }
    if (seeds_) line.push_back({entry.summary->ci95 ? IntervalText(*entry.summary->ci95, metric) : "–"});
    if (test_)
      line.push_back({*entry.test ? IntervalText({(*entry.test)->low, (*entry.test)->high}, metric) : "–"});
    return line;
  }

  void AddClaim(const privacy::Claim& claim, HtmlLine& line) {
    const ClaimCells cells = CellsOf(claim, notes_);
    for (const std::string& text : {cells.protects, cells.neighbours, cells.delta, cells.epsilon})
      line.push_back({text});
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
    for (const std::string& sentence : LegendOf(table_)) html.Element("li", sentence);
    html.Element("li", "Specs " + table_.spec_hash + ".");
  }

  const ResultTable& table_;
  const std::string note_prefix_;
  const std::vector<TableEntry> entries_;
  Notes notes_;
  bool seeds_ = false, test_ = false, published_ = false;
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
