#include "orchestrator/cli/render/report_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "experiments/base/digests.h"
#include "experiments/base/number_text.h"
#include "orchestrator/cli/render/claim_text.h"
#include "orchestrator/cli/render/figure_chart.h"
#include "orchestrator/cli/render/html.h"
#include "orchestrator/cli/render/status_text.h"
#include "orchestrator/cli/render/table_export.h"
#include "orchestrator/cli/render/table_text.h"
#include "orchestrator/plot/render.h"
#include "orchestrator/results/tables/figure_data.h"
#include "orchestrator/results/tables/table_lines.h"
#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator::cli {

// The tables of a sweep: measured beside published beside what is claimed, every epsilon with its labels.
namespace {

// One table of one sweep, on its way to HTML.
class TablePart {
 public:
  TablePart(const ResultTable& table, std::string note_prefix)
      : table_(table), note_prefix_(std::move(note_prefix)), entries_(ListEntries(table)) {
    for (const TableEntry& entry : entries_) published_ = published_ || entry.published;
  }

  void Write(Html& html) {
    if (FindColumns(table_).size() > 1) WriteTable(html, MatrixTable());
    WriteTable(html, ClaimTable());
    WriteNotes(html);
  }

 private:
  [[nodiscard]] HtmlTable MatrixTable() {
    Matrix matrix = MakeMatrix(table_, notes_);
    HtmlTable out;
    out.caption = fmt::format("{}: {}, rows against columns", table_.spec.name, table_.spec.metric);
    const std::size_t keys = table_.spec.rows.size();
    for (std::size_t i = 0; i < matrix.header.size(); ++i)
      out.columns.push_back({matrix.header[i], i < keys ? HtmlSort::text : HtmlSort::none, i >= keys});
    for (const Matrix::Row& row : matrix.rows) {
      HtmlLine line;
      for (const std::string& key : row.keys) line.push_back({FormatTextOrDash(key)});
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
    out.caption = fmt::format("{}: {} and every ε with what it protects and whether it is proven", table_.spec.name,
                              table_.spec.metric);
    const std::vector<std::string> keys = ListKeyNames(table_);
    out.columns.push_back({"role", HtmlSort::text, false, !keys.empty()});
    for (std::size_t i = 0; i < keys.size(); ++i) out.columns.push_back({keys[i], HtmlSort::text, false, i > 0});
    out.columns.push_back({table_.spec.metric, HtmlSort::number, true});
    if (published_) out.columns.push_back({"published", HtmlSort::number, true});
    out.columns.push_back({"protects", HtmlSort::none, false, true});
    out.columns.push_back({"ε", HtmlSort::none, true});
    out.columns.push_back({"neighbours", HtmlSort::none, false, true});
    out.columns.push_back({"δ", HtmlSort::none, true, true});
    out.columns.push_back({"basis"});
    for (const TableEntry& entry : entries_) out.groups.push_back(MakeGroup(entry, keys));
    return out;
  }

  [[nodiscard]] HtmlGroup MakeGroup(const TableEntry& entry, const std::vector<std::string>& keys) {
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
      line.push_back({FormatTextOrDash(entry.keys[i])});
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
                       ? MakeNumberCell(FormatPublished(*entry.published, table_.spec.metric), *entry.published)
                       : HtmlCell{"–"});
    line.back().em = entry.best_published;
    line.back().marks = FormatMarks(*entry.notes, notes_);
    line.back().note_prefix = note_prefix_;
    return line;
  }

  // With what the text table, too, prints below the value.
  [[nodiscard]] HtmlCell Measured(const TableEntry& entry) const {
    const std::string& metric = table_.spec.metric;
    const bool quoted = entry.state == CellState::quoted;
    const std::string text = quoted ? "quoted" : FormatMeasured(*entry.summary, metric);
    HtmlCell cell = entry.summary->n > 0 ? MakeNumberCell(text, entry.summary->mean) : HtmlCell{text};
    cell.strong = entry.best;
    if (!quoted)
      cell.below.push_back(FormatSeeds(*entry.summary, entry.planned, entry.failed) + (entry.smoke ? ", smoke" : ""));
    if (const std::string seeds = FormatSeedsInterval(*entry.summary, metric); !seeds.empty())
      cell.below.push_back("seeds " + seeds);
    if (*entry.test) cell.below.push_back("test " + FormatInterval({(*entry.test)->low, (*entry.test)->high}, metric));
    return cell;
  }

  void AddClaim(const privacy::Claim& claim, HtmlLine& line) {
    const ClaimCells cells = MakeClaimCells(claim, notes_);
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
    for (const std::string& sentence : MakeLegend(table_)) html.Prose("li", sentence);
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

// What all trials together cost each data set, what the ledger holds, and the privacy of each row in a
// paragraph.
namespace {

// Of one private data set, by its unpacked digest.
struct Charged {
  std::set<TrialId> trials;
  std::int64_t reservations = 0, open = 0, reserved = 0, charged = 0;
};

std::map<std::string, Charged> ByData(const ResultsView& view) {
  std::map<std::string, Charged> by_data;
  for (const storage::LedgerEntry& entry : view.ledger) {
    Charged& charged = by_data[FindUnpackedDigest(view.unpacked, entry.data_digest)];
    charged.trials.insert(entry.attempt.trial);
    ++charged.reservations;
    charged.open += entry.state == storage::LedgerState::reserved ? 1 : 0;
    charged.reserved += entry.event.count;
    charged.charged += entry.Charged().count;
  }
  return by_data;
}

std::string FindSweepName(const SweepStatus& status, const std::string& digest) {
  for (const DataSpending& spent : status.spending)
    if (spent.digest == digest) return spent.data;
  return digest.substr(0, 12);
}

HtmlTable LedgerTable(const ReportSources& sources) {
  HtmlTable table;
  table.caption = "Ledger: what was charged before it was released";
  table.columns = {{"data set", HtmlSort::text},
                   {"trials", HtmlSort::number, true},
                   {"reservations", HtmlSort::number, true},
                   {"not settled", HtmlSort::number, true},
                   {"releases reserved", HtmlSort::number, true},
                   {"releases charged", HtmlSort::number, true}};
  for (const auto& [digest, charged] : ByData(sources.view)) {
    HtmlCell name{FindSweepName(sources.status, digest)};
    name.header = true;
    HtmlLine line = {name};
    for (const std::int64_t count : {static_cast<std::int64_t>(charged.trials.size()), charged.reservations,
                                     charged.open, charged.reserved, charged.charged})
      line.push_back({CountText(count), std::to_string(count)});
    table.groups.push_back({std::move(line)});
  }
  return table;
}

void WriteLedger(Html& html, const ReportSources& sources) {
  const ResultsView& view = sources.view;
  html.Element("h3", "Spent of each data set");
  if (sources.status.spending.empty()) html.Paragraph("Nothing was charged to a private data set.");
  {
    const HtmlScope list(html, "ul");
    for (const DataSpending& spent : sources.status.spending) html.Prose("li", FormatSpendingLine(spent) + ".");
  }
  if (!view.ledger.empty()) WriteTable(html, LedgerTable(sources));
  if (!view.ledger_lost.empty())
    html.Element("p", "The ledger is not whole: " + view.ledger_lost, {{"class", "alert"}});
  else
    html.Paragraph(
        fmt::format("The ledger holds every reservation that the journal knows of. `retort verify --results "
                    "{}` compares it with the claims of each row.",
                    QuoteForShell(view.directory)));
}

// "rows: paragraph".
void WriteStatement(Html& html, const std::string& statement) {
  const std::size_t colon = statement.find(": ");
  html.Element("h4", statement.substr(0, colon));
  if (colon != std::string::npos) html.Paragraph(statement.substr(colon + 2));
}

void WriteStatements(Html& html, const ReportSources& sources) {
  for (const ResultTable& table : sources.tables) {
    const std::vector<std::string> statements = MakeStatements(table, sources.view);
    if (statements.empty()) continue;
    html.Element("h3", "Privacy statements of table " + table.spec.name);
    html.Paragraph("Of the trial with the largest ε for one training example among the seeds of a row.");
    const std::size_t shown = std::min(statements.size(), sources.limits.statements);
    for (std::size_t i = 0; i < shown; ++i) WriteStatement(html, statements[i]);
    if (shown < statements.size())
      html.Paragraph(fmt::format("{} more are left out: `retort table {} {} --statements --results {}` prints all.",
                                 statements.size() - shown, QuoteForShell(sources.plan.file),
                                 QuoteForShell(table.spec.name), QuoteForShell(sources.view.directory)));
  }
}

}  // namespace

void WritePrivacy(Html& html, const ReportSources& sources) {
  const HtmlScope section(html, "section", {{"aria-labelledby", "privacy"}});
  html.Element("h2", "Privacy", {{"id", "privacy"}});
  {
    const HtmlScope list(html, "ul");
    html.Element("li", "≤: proven, an upper bound that follows from what was drawn, rounded up.");
    html.Element("li", "†: the paper's formula at this run's parameters; not a guarantee.");
    html.Element("li", "∞: no finite bound holds, for the reason in the footnote.");
    html.Element("li", "≥: what an audit found to leak at least.");
  }
  WriteLedger(html, sources);
  WriteStatements(html, sources);
}

// The figures of a sweep, as `retort plot` draws them.
namespace {

constexpr std::size_t kLongestAlternative = 1200;

std::string PlotCommand(const ReportSources& sources, const FigureSpec& spec) {
  return "retort plot " + QuoteForShell(sources.plan.file) + " " +
         (sources.plan.figures.empty() ? "" : spec.name + " ") + "--results " + QuoteForShell(sources.view.directory);
}

bool ReadsAttempts(FigureKind kind) { return kind == FigureKind::curve || ShowsImages(kind); }

std::vector<const TrialView*> StudentsIn(const ResultsView& view) {
  std::vector<const TrialView*> students;
  for (const TrialView& trial : view.trials)
    if (trial.spec.role == Role::student) students.push_back(&trial);
  return students;
}

// Why the figure is left to `retort plot`; empty when it is not.
std::string TooLarge(const ReportSources& sources, const FigureSpec& spec) {
  if (spec.kind == FigureKind::map && spec.count > kMaxOnMap) return "it takes long";
  if (ReadsAttempts(spec.kind) && !sources.attempts.Affords(StudentsIn(sources.view)))
    return "it needs more of the attempts' files than a page reads";
  return "";
}

class FigurePart {
 public:
  FigurePart(Html& html, const ReportSources& sources, std::size_t& drawn_bytes)
      : html_(html), sources_(sources), drawn_bytes_(drawn_bytes) {}

  // `declared`: in the sweep file. One that is not is worth no word when there is nothing to draw.
  void Write(const FigureSpec& spec, bool declared) {
    if (const std::string why = TooLarge(sources_, spec); !why.empty()) return LeaveOut(spec, why);
    const auto recorded = [this](const TrialView& trial) {
      return Result<storage::AttemptFile>(sources_.attempts.Read(trial));
    };
    const std::vector<PublishedValue> published = FindPublishedTable(spec.published);
    const auto pictures = [this, &spec](const DataSpec& set) { return sources_.pictures(set, spec.count); };
    const Result<FigureData> data = BuildFigure(
        spec, {sources_.plan, sources_.view, published, recorded, sources_.plan.profile == "smoke", pictures});
    if (!data.ok()) {
      if (declared) Say(spec, data.status().message());
    } else if (data->empty) {
      if (declared) Say(spec, "Nothing of it has been measured yet.");
    } else {
      Draw(*data);
    }
  }

 private:
  void Say(const FigureSpec& spec, const std::string& what) {
    html_.Element("h3", "Figure " + spec.name);
    html_.Paragraph(what);
  }

  void LeaveOut(const FigureSpec& spec, const std::string& why) {
    html_.Element("h3", "Figure " + spec.name);
    const HtmlScope paragraph(html_, "p");
    html_.Text("Left out: " + why + ". ");
    html_.Element("code", PlotCommand(sources_, spec));
    html_.Text(" draws it.");
  }

  void Draw(const FigureData& data) {
    const plot::Chart picture = MakeChart(data);
    const Result<std::string> svg = plot::Render(picture, plot::Format::svg);
    if (!svg.ok()) return Say(data.spec, svg.status().message());
    const std::string bytes = FormatBase64(*svg);
    if (drawn_bytes_ + bytes.size() > sources_.limits.drawn_bytes)
      return LeaveOut(data.spec, "the page has as many pictures as it may hold");
    drawn_bytes_ += bytes.size();
    html_.Element("h3", "Figure " + data.spec.name);
    const HtmlScope figure(html_, "figure");
    const bool fits = picture.description.size() <= kLongestAlternative;
    html_.Void("img",
               {{"src", "data:image/svg+xml;base64," + bytes},
                {"alt", picture.name + ". " + (fits ? picture.description : "Its points stand in words below.")}});
    html_.Line();
    if (!fits) WordsBelow(picture.description);
    if (data.missing > 0)
      html_.Element("figcaption", fmt::format("{} of {} points are missing.", data.missing, data.all));
  }

  void WordsBelow(const std::string& description) {
    const HtmlScope details(html_, "details");
    html_.Element("summary", "The same in words");
    html_.Paragraph(description);
  }

  Html& html_;
  const ReportSources& sources_;
  std::size_t& drawn_bytes_;
};

}  // namespace

void WriteFigures(Html& html, const ReportSources& sources, std::size_t& drawn_bytes) {
  const std::vector<FigureSpec>& declared = sources.plan.figures;
  if (sources.plan.trials.empty()) return;
  const HtmlScope section(html, "section", {{"aria-labelledby", "figures"}});
  html.Element("h2", "Figures", {{"id", "figures"}});
  FigurePart part(html, sources, drawn_bytes);
  if (declared.empty()) part.Write(MakeDefaultFigure(sources.plan), false);
  for (std::size_t i = 0; i < std::min(declared.size(), sources.limits.figures); ++i) part.Write(declared[i], true);
  if (declared.size() > sources.limits.figures)
    html.Paragraph(fmt::format("{} more figures are left out: `retort plot {} --results {}` draws all.",
                               declared.size() - sources.limits.figures, QuoteForShell(sources.plan.file),
                               QuoteForShell(sources.view.directory)));
}

}  // namespace retort::orchestrator::cli
