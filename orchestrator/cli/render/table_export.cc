#include "orchestrator/cli/render/table_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/number_text.h"
#include "orchestrator/cli/render/claim_text.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/table_text.h"
#include "orchestrator/cli/render/version.h"
#include "orchestrator/results/tables/settings_notes.h"
#include "orchestrator/results/tables/table_lines.h"

namespace retort::orchestrator::cli {
namespace {

std::string_view OfAscii(char c) {
  switch (c) {
    case '\\':
      return "\\textbackslash{}";
    case '&':
      return "\\&";
    case '%':
      return "\\%";
    case '$':
      return "\\$";
    case '#':
      return "\\#";
    case '_':
      return "\\_";
    case '{':
      return "\\{";
    case '}':
      return "\\}";
    case '~':
      return "\\textasciitilde{}";
    case '^':
      return "\\textasciicircum{}";
    case '<':
      return "$<$";
    case '>':
      return "$>$";
    case '|':
      return "$|$";
    case '"':
      return "''";
    case '`':
      return "'";
    case '\n':
      return " ";
    default:
      return {};
  }
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 25> kSymbols = {
    {{"ε", "$\\varepsilon$"}, {"δ", "$\\delta$"}, {"∞", "$\\infty$"}, {"†", "\\dag{}"},   {"±", "$\\pm$"},
     {"≤", "$\\le$"},         {"≥", "$\\ge$"},    {"–", "--"},        {"—", "---"},       {"σ", "$\\sigma$"},
     {"μ", "$\\mu$"},         {"κ", "$\\kappa$"}, {"α", "$\\alpha$"}, {"β", "$\\beta$"},  {"γ", "$\\gamma$"},
     {"λ", "$\\lambda$"},     {"ρ", "$\\rho$"},   {"√", "$\\surd$"},  {"×", "$\\times$"}, {"·", "$\\cdot$"},
     {"²", "$^2$"},           {"°", "$^\\circ$"}, {"§", "\\S{}"},     {"→", "$\\to$"},    {"₀", "$_0$"}}};

// Bytes of the UTF-8 character that begins `text`, and its code point; a byte that begins none is taken alone.
std::pair<std::size_t, std::uint32_t> CodePoint(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  if (length == 1 || length > text.size()) return {1, lead};
  std::uint32_t code = lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) code = code << 6U | (static_cast<unsigned char>(text[i]) & 0x3FU);
  return {length, code};
}

}  // namespace

std::string EscapeLatex(std::string_view text) {
  constexpr std::uint32_t kFirstAccented = 0xC0, kPastAccented = 0x180;  // what inputenc composes
  std::string out;
  while (!text.empty()) {
    const char c = text.front();
    if ((static_cast<unsigned char>(c) & 0x80U) == 0) {
      const std::string_view escaped = OfAscii(c);
      out += escaped.empty() ? std::string_view(&text.front(), 1) : escaped;
      text.remove_prefix(1);
      continue;
    }
    const auto symbol = std::find_if(kSymbols.begin(), kSymbols.end(),
                                     [&](const auto& known) { return text.starts_with(known.first); });
    const auto [length, code] = CodePoint(text);
    if (symbol != kSymbols.end())
      out += symbol->second;
    else if (code >= kFirstAccented && code < kPastAccented && length == 2)
      out += text.substr(0, length);
    else
      out += fmt::format("{{[U+{:04X}]}}", code);
    text.remove_prefix(length);
  }
  return out;
}

// Markdown and LaTeX.
namespace {

enum class Face : unsigned char { plain, bold, italic };

// Text in one face, then text in another.
struct MarkupCell {
  std::string text;
  Face face = Face::plain;
  std::string after = {};
  Face after_face = Face::plain;
  std::string marks = {};  // of footnotes
};

struct MarkupTable {
  std::vector<std::string> header;
  struct Line {
    bool first = false;  // of its entry
    std::vector<MarkupCell> cells;
  };
  std::vector<Line> lines;
};

// Keys and measurement: what stands on the first line of an entry.
std::vector<MarkupCell> FirstCells(const TableEntry& entry, const std::string& metric, Notes& notes) {
  const bool quoted = entry.state == CellState::quoted;
  std::vector<MarkupCell> cells = {{entry.role}};
  for (const std::string& key : entry.keys) cells.push_back({FormatTextOrDash(key)});
  cells.push_back({quoted ? "quoted" : FormatMeasured(*entry.summary, metric), entry.best ? Face::bold : Face::plain});
  cells.push_back({FormatSeeds(*entry.summary, entry.planned, entry.failed) + (entry.smoke ? ", smoke" : "")});
  MarkupCell published{entry.published ? FormatPublished(*entry.published, metric) : "–",
                       entry.best_published ? Face::italic : Face::plain};
  published.marks = FormatMarks(*entry.notes, notes);
  cells.push_back(std::move(published));
  cells.push_back({FormatTextOrDash(FormatSeedsInterval(*entry.summary, metric))});
  cells.push_back({*entry.test ? FormatInterval({(*entry.test)->low, (*entry.test)->high}, metric) : "–"});
  return cells;
}

// The claims of an entry run down beside its measurement.
MarkupTable MakeLines(const ResultTable& table, Notes& notes) {
  MarkupTable markup;
  markup.header = {"role"};
  for (const std::string& name : ListKeyNames(table)) markup.header.push_back(name);
  markup.header.push_back(table.spec.metric);
  for (const char* name : {"n", "published", "seeds 95 %", "test 95 %", "protects", "neighbours", "δ", "ε", "basis"})
    markup.header.emplace_back(name);
  for (const TableEntry& entry : ListEntries(table)) {
    std::vector<MarkupCell> cells = FirstCells(entry, table.spec.metric, notes);
    for (std::size_t i = 0; i < std::max<std::size_t>(entry.claims->size(), 1); ++i) {
      if (i > 0) std::fill(cells.begin(), cells.end(), MarkupCell());
      std::vector<MarkupCell> line = cells;
      if (i < entry.claims->size()) {
        const ClaimCells claim = MakeClaimCells((*entry.claims)[i], notes);
        for (const std::string& cell : {claim.protects, claim.neighbours, claim.delta, claim.epsilon, claim.basis})
          line.push_back({cell});
      }
      line.resize(markup.header.size());
      markup.lines.push_back({i == 0, std::move(line)});
    }
  }
  return markup;
}

MarkupCell MatrixMarkup(const MatrixCell& cell) {
  if (!cell.planned) return {"–"};
  const Face published = cell.best_published ? Face::italic : Face::plain;
  MarkupCell out;
  out.marks = cell.marks;
  if (cell.quoted) {
    out = {"quoted ", Face::plain, cell.published, published, cell.marks};
  } else {
    out.text = cell.measured;
    out.face = cell.best ? Face::bold : Face::plain;
    if (!cell.published.empty()) {
      out.after = " (" + cell.published + ")";
      out.after_face = published;
    }
  }
  return out;
}

MarkupTable MatrixLines(const ResultTable& table, Notes& notes) {
  Matrix matrix = MakeMatrix(table, notes);
  MarkupTable markup;
  markup.header = std::move(matrix.header);
  for (const Matrix::Row& row : matrix.rows) {
    MarkupTable::Line line;
    for (const std::string& key : row.keys) line.cells.push_back({FormatTextOrDash(key)});
    for (const MatrixCell& cell : row.cells) line.cells.push_back(MatrixMarkup(cell));
    markup.lines.push_back(std::move(line));
  }
  return markup;
}

// Shown as it is, whatever it holds: no markup, link, entity or formula comes of it.
std::string MarkdownText(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += ' ';
      continue;
    }
    if (std::string_view("\\|*_<`[]~&$").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// As an item of a list: nor does its beginning make a heading, a quotation or another list of it.
std::string MarkdownItem(const std::string& text) {
  std::string out = MarkdownText(text);
  const std::size_t digits = std::min(out.find_first_not_of("0123456789"), out.size());
  const bool numbers = digits > 0 && digits < out.size() && (out[digits] == '.' || out[digits] == ')');
  if (numbers) out.insert(digits, "\\");
  if (!out.empty() && std::string_view("#>+-=").find(out.front()) != std::string_view::npos) out.insert(0, "\\");
  return "- " + out + "\n";
}

// The blank before a text in brackets stays outside of its face, which must not begin with one.
std::string InMarkdown(const std::string& text, Face face) {
  const std::string escaped = MarkdownText(text);
  if (face == Face::plain || escaped.empty()) return escaped;
  const std::size_t begin = std::min(escaped.find_first_not_of(' '), escaped.size());
  const char* mark = face == Face::bold ? "**" : "*";
  return escaped.substr(0, begin) + mark + escaped.substr(begin) + mark;
}

std::string MarkdownCell(const MarkupCell& cell) {
  return InMarkdown(cell.text, cell.face) + InMarkdown(cell.after, cell.after_face) + MarkdownText(cell.marks);
}

std::string MarkdownTable(const MarkupTable& table) {
  std::string out = "|";
  for (const std::string& name : table.header) out += " " + MarkdownText(name) + " |";
  out += "\n|";
  for (std::size_t i = 0; i < table.header.size(); ++i) out += "---|";
  for (const MarkupTable::Line& line : table.lines) {
    out += "\n|";
    for (const MarkupCell& cell : line.cells) out += " " + MarkdownCell(cell) + " |";
  }
  return out + "\n\n";
}

std::string InLatex(const std::string& text, Face face) {
  const std::string escaped = EscapeLatex(text);
  if (face == Face::plain || escaped.empty()) return escaped;
  return (face == Face::bold ? "\\textbf{" : "\\textit{") + escaped + "}";
}

// A line that begins with "[" would be taken for an argument of the \\ before it.
std::string LatexLine(const std::vector<MarkupCell>& cells) {
  std::string line = "{}";
  for (std::size_t i = 0; i < cells.size(); ++i)
    line += (i == 0 ? "" : " & ") + InLatex(cells[i].text, cells[i].face) +
            InLatex(cells[i].after, cells[i].after_face) + EscapeLatex(cells[i].marks);
  return line + " \\\\\n";
}

std::string LatexTable(const MarkupTable& table, bool rules) {
  std::vector<MarkupCell> header;
  for (const std::string& name : table.header) header.push_back({name});
  std::string out = "\\begin{tabular}{" + std::string(table.header.size(), 'l') + "}\n\\toprule\n" + LatexLine(header);
  if (!rules) out += "\\midrule\n";
  for (const MarkupTable::Line& line : table.lines)
    out += (rules && line.first ? "\\midrule\n" : "") + LatexLine(line.cells);
  return out + "\\bottomrule\n\\end{tabular}\n\n";
}

}  // namespace

std::string FormatTableMarkdown(const ResultTable& table) {
  Notes notes;
  std::string out = fmt::format("### {} of sweep {}\n\n", MarkdownText(table.spec.name), MarkdownText(table.sweep));
  if (FindColumns(table).size() > 1) out += MarkdownTable(MatrixLines(table, notes));
  out += MarkdownTable(MakeLines(table, notes));
  for (std::size_t i = 0; i < notes.texts().size(); ++i)
    out += fmt::format("- \\[{}\\] {}\n", i + 1, MarkdownText(notes.texts()[i]));
  for (const std::string& line : MakeLegend(table)) out += MarkdownItem(line);
  return out + fmt::format("\nSpecs {}, retort {}\n", table.spec_hash, FormatVersion());
}

std::string FormatTableLatex(const ResultTable& table) {
  Notes notes;
  std::string out = fmt::format("% {} of sweep {}; specs {}, retort {}; needs booktabs\n", table.spec.name, table.sweep,
                                table.spec_hash, FormatVersion());
  out += "\\begingroup\\footnotesize\\setlength{\\tabcolsep}{3pt}\n";
  if (FindColumns(table).size() > 1) out += LatexTable(MatrixLines(table, notes), false) + "\\medskip\n\n";
  out += LatexTable(MakeLines(table, notes), true) + "\\begin{itemize}\n";
  for (std::size_t i = 0; i < notes.texts().size(); ++i)
    out += fmt::format("\\item[{{[{}]}}] ", i + 1) + EscapeLatex(notes.texts()[i]) + "\n";
  for (const std::string& line : MakeLegend(table)) out += "\\item{} " + EscapeLatex(line) + "\n";
  return out + "\\end{itemize}\n\\endgroup\n";
}

namespace {

std::string Field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

void AppendLine(const std::vector<std::string>& fields, std::string& out) {
  for (std::size_t i = 0; i < fields.size(); ++i) out += (i == 0 ? "" : ",") + Field(fields[i]);
  out += '\n';
}

std::string Number(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : ""; }

std::string JoinedBySemicolon(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ";") + word;
  return text;
}

std::vector<std::string> MeasuredFields(const TableEntry& entry, const std::string& metric) {
  const SeedSummary& summary = *entry.summary;
  const auto value = [&metric](double number) {
    const std::optional<std::int64_t> count = FindCount(number, metric);
    return count ? std::to_string(*count) : fmt::format("{}", number);
  };
  std::vector<std::string> fields = {metric, summary.n > 0 ? value(summary.mean) : "", Number(summary.sd),
                                     std::to_string(summary.n)};
  fields.push_back(summary.ci95 ? value(summary.ci95->first) : "");
  fields.push_back(summary.ci95 ? value(summary.ci95->second) : "");
  fields.push_back(entry.published ? value(*entry.published) : "");
  fields.emplace_back(GetCellStateName(entry.state));
  return fields;
}

std::vector<std::string> ClaimFields(const privacy::Claim& claim) {
  const bool finite = std::isfinite(claim.epsilon) && claim.status != privacy::ClaimStatus::unbounded;
  return {std::string(privacy::GetAdjacencyName(claim.adjacency)),
          std::string(privacy::GetNeighbourName(claim.neighbour)),
          claim.delta_stated ? FormatShortNumber(claim.delta) : "",
          finite ? fmt::format("{}", claim.epsilon) : "inf",
          Number(claim.lower),
          std::string(privacy::GetStatusName(claim.status)),
          claim.accountant,
          claim.units,
          JoinedBySemicolon(claim.assumptions),
          claim.reason};
}

std::string JoinedIds(const std::vector<TrialId>& trials) {
  std::vector<std::string> hex;
  for (const TrialId trial : trials) hex.push_back(trial.Hex());
  return JoinedBySemicolon(hex);
}

std::string Flag(bool value) { return value ? "true" : "false"; }

std::vector<std::string> MarkFields(const TableEntry& entry) {
  std::vector<std::string> fields(3);
  if (const std::optional<TestInterval>& test = *entry.test)
    fields = {std::to_string(test->n), fmt::format("{}", test->low), fmt::format("{}", test->high)};
  fields.push_back(Flag(entry.best));
  fields.push_back(Flag(entry.best_published));
  fields.push_back(Flag(entry.smoke));
  fields.push_back(*entry.source ? (*entry.source)->setting : "");
  std::string notes;
  for (const std::string& note : *entry.notes) notes += (notes.empty() ? "" : " | ") + note;
  fields.push_back(std::move(notes));
  fields.push_back(FormatDifferences(entry.differs));
  return fields;
}

}  // namespace

std::string FormatTableCsv(const ResultTable& table) {
  std::vector<std::string> header = {"table", "role"};
  for (const std::string& name : ListKeyNames(table)) header.push_back(name);
  for (const char* name : {"metric",
                           "mean",
                           "sd",
                           "n",
                           "ci95_low",
                           "ci95_high",
                           "published",
                           "state",
                           "adjacency",
                           "neighbour",
                           "delta",
                           "epsilon",
                           "epsilon_lower",
                           "status",
                           "accountant",
                           "units",
                           "assumptions",
                           "reason",
                           "trials",
                           "test_n",
                           "test95_low",
                           "test95_high",
                           "best",
                           "best_published",
                           "smoke",
                           "published_setting",
                           "notes",
                           "differs"})
    header.emplace_back(name);
  std::string out;
  AppendLine(header, out);
  for (const TableEntry& entry : ListEntries(table)) {
    std::vector<std::string> fixed = {table.spec.name, entry.role};
    fixed.insert(fixed.end(), entry.keys.begin(), entry.keys.end());
    for (std::string& field : MeasuredFields(entry, table.spec.metric)) fixed.push_back(std::move(field));
    std::vector<std::vector<std::string>> claims;
    for (const privacy::Claim& claim : *entry.claims) claims.push_back(ClaimFields(claim));
    if (claims.empty()) claims.emplace_back(10);
    for (const auto& claim : claims) {
      std::vector<std::string> line = fixed;
      line.insert(line.end(), claim.begin(), claim.end());
      line.push_back(JoinedIds(*entry.trials));
      for (std::string& field : MarkFields(entry)) line.push_back(std::move(field));
      AppendLine(line, out);
    }
  }
  return out;
}

namespace {

using nlohmann::ordered_json;

// What is measured, and what is published beside it.
template <typename Line>
void AddValues(const Line& line, const std::string& metric, ordered_json& into) {
  const SeedSummary& summary = line.summary;
  into["mean"] = summary.n > 0 ? MakeMetricJson(summary.mean, metric) : ordered_json();
  into["sd"] = summary.sd ? ordered_json(*summary.sd) : ordered_json();
  into["n"] = summary.n;
  into["ci95"] = summary.ci95 ? ordered_json{MakeMetricJson(summary.ci95->first, metric),
                                             MakeMetricJson(summary.ci95->second, metric)}
                              : ordered_json();
  into["published"] = line.published ? MakeMetricJson(*line.published, metric) : ordered_json();
}

ordered_json IdsJson(const std::vector<TrialId>& trials) {
  ordered_json ids = ordered_json::array();
  for (const TrialId trial : trials) ids.push_back(trial.Hex());
  return ids;
}

ordered_json SourceJson(const std::optional<PublishedValue>& source) {
  if (!source) return {};
  ordered_json json;
  json["paper"] = source->paper;
  json["table"] = source->table;
  json["dataset"] = source->dataset;
  json["approach"] = source->approach;
  json["epsilon"] = source->epsilon ? ordered_json(*source->epsilon) : ordered_json();
  json["delta"] = source->delta ? ordered_json(*source->delta) : ordered_json();
  json["setting"] = source->setting;
  json["metric"] = source->metric;
  json["printed"] = source->printed;
  return json;
}

// What teachers and cells have alike beyond the measurement.
template <typename Line>
void AddMarks(const Line& line, bool smoke, ordered_json& into) {
  into["published_source"] = SourceJson(line.source);
  into["notes"] = line.notes;
  into["test_n"] = line.test ? ordered_json(line.test->n) : ordered_json();
  into["test95"] = line.test ? ordered_json{line.test->low, line.test->high} : ordered_json();
  into["smoke"] = smoke && line.planned > 0;
}

ordered_json CellJson(const TableCell& cell, const ResultTable& table) {
  const TableSpec& spec = table.spec;
  ordered_json json;
  json["row"] = MakeKeysAndValues(spec.rows, cell.row);
  json["column"] = MakeKeysAndValues(spec.columns, cell.column);
  json["metric"] = spec.metric;
  AddValues(cell, spec.metric, json);
  json["state"] = GetCellStateName(cell.state);
  json["planned"] = cell.planned;
  json["failed"] = cell.failed;
  json["claims"] = MakeClaimsJson(cell.claims);
  json["trials"] = IdsJson(cell.trials);
  json["differs"] = MakeDifferencesJson(cell.differs);
  AddMarks(cell, table.smoke, json);
  json["best"] = cell.best;
  json["best_published"] = cell.best_published;
  return json;
}

ordered_json TeacherJson(const TeacherLine& teacher, const ResultTable& table) {
  ordered_json json;
  json["teacher"] = teacher.name;
  json["method"] = teacher.method;
  json["network"] = teacher.network;
  json["data"] = teacher.data;
  json["metric"] = table.spec.metric;
  AddValues(teacher, table.spec.metric, json);
  json["claims"] = MakeClaimsJson(teacher.claims);
  json["trials"] = IdsJson(teacher.trials);
  AddMarks(teacher, table.smoke, json);
  return json;
}

// Behind what `json` holds.
ordered_json TableJson(const ResultTable& table, ordered_json json = ordered_json::object()) {
  json["table"] = table.spec.name;
  json["sweep"] = table.sweep;
  json["cells"] = ordered_json::array();
  for (const TableCell& cell : table.cells) json["cells"].push_back(CellJson(cell, table));
  json["teachers"] = ordered_json::array();
  for (const TeacherLine& teacher : table.teachers) json["teachers"].push_back(TeacherJson(teacher, table));
  json["interval"] = table.spec.interval == retort::Interval::bootstrap ? "bootstrap" : "t";
  json["notes"] = MakeLegend(table);
  json["spec_hash"] = table.spec_hash;
  json["retort"] = FormatVersion();
  return json;
}

}  // namespace

std::string FormatTablesJson(const std::vector<ResultTable>& tables) {
  ordered_json document;
  document["schema_version"] = kSchemaVersion;
  if (tables.size() == 1) {
    document = TableJson(tables.front(), std::move(document));
  } else {
    document["tables"] = ordered_json::array();
    for (const ResultTable& table : tables) document["tables"].push_back(TableJson(table));
  }
  return FormatDocument(document);
}

}  // namespace retort::orchestrator::cli
