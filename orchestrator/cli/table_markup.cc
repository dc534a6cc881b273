// Markdown and LaTeX.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/cli/claim_text.h"
#include "orchestrator/cli/latex_text.h"
#include "orchestrator/cli/table_format.h"
#include "orchestrator/cli/table_lines.h"
#include "orchestrator/cli/table_matrix.h"
#include "orchestrator/cli/version.h"

namespace retort::orchestrator::cli {
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

std::string Shown(const std::string& value) { return value.empty() ? "–" : value; }

// Keys and measurement: what stands on the first line of an entry.
std::vector<MarkupCell> FirstCells(const TableEntry& entry, const std::string& metric, Notes& notes) {
  const bool quoted = entry.state == CellState::quoted;
  std::vector<MarkupCell> cells = {{entry.role}};
  for (const std::string& key : entry.keys) cells.push_back({Shown(key)});
  cells.push_back({quoted ? "quoted" : MeasuredText(*entry.summary, metric), entry.best ? Face::bold : Face::plain});
  cells.push_back({SeedsText(*entry.summary, entry.planned, entry.failed) + (entry.smoke ? ", smoke" : "")});
  MarkupCell published{entry.published ? PublishedText(*entry.published, metric) : "–",
                       entry.best_published ? Face::italic : Face::plain};
  published.marks = MarksOf(*entry.notes, notes);
  cells.push_back(std::move(published));
  cells.push_back({entry.summary->ci95 ? IntervalText(*entry.summary->ci95, metric) : "–"});
  cells.push_back({*entry.test ? IntervalText({(*entry.test)->low, (*entry.test)->high}, metric) : "–"});
  return cells;
}

// The claims of an entry run down beside its measurement.
MarkupTable LinesOf(const ResultTable& table, Notes& notes) {
  MarkupTable markup;
  markup.header = {"role"};
  for (const std::string& name : KeyNames(table)) markup.header.push_back(name);
  markup.header.push_back(table.spec.metric);
  for (const char* name : {"n", "published", "seeds 95 %", "test 95 %", "protects", "neighbours", "δ", "ε", "basis"})
    markup.header.emplace_back(name);
  for (const TableEntry& entry : EntriesOf(table)) {
    std::vector<MarkupCell> cells = FirstCells(entry, table.spec.metric, notes);
    for (std::size_t i = 0; i < std::max<std::size_t>(entry.claims->size(), 1); ++i) {
      if (i > 0) std::fill(cells.begin(), cells.end(), MarkupCell());
      std::vector<MarkupCell> line = cells;
      if (i < entry.claims->size()) {
        const ClaimCells claim = CellsOf((*entry.claims)[i], notes);
        for (const std::string& cell :
             {claim.protects, claim.neighbours, claim.delta, claim.epsilon, claim.basis})
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
  Matrix matrix = MatrixOf(table, notes);
  MarkupTable markup;
  markup.header = std::move(matrix.header);
  for (const Matrix::Row& row : matrix.rows) {
    MarkupTable::Line line;
    for (const std::string& key : row.keys) line.cells.push_back({Shown(key)});
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
  const std::string escaped = LatexText(text);
  if (face == Face::plain || escaped.empty()) return escaped;
  return (face == Face::bold ? "\\textbf{" : "\\textit{") + escaped + "}";
}

// A line that begins with "[" would be taken for an argument of the \\ before it.
std::string LatexLine(const std::vector<MarkupCell>& cells) {
  std::string line = "{}";
  for (std::size_t i = 0; i < cells.size(); ++i)
    line += (i == 0 ? "" : " & ") + InLatex(cells[i].text, cells[i].face) +
            InLatex(cells[i].after, cells[i].after_face) + LatexText(cells[i].marks);
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

std::string TableAsMarkdown(const ResultTable& table) {
  Notes notes;
  std::string out =
      fmt::format("### {} of sweep {}\n\n", MarkdownText(table.spec.name), MarkdownText(table.sweep));
  if (ColumnsOf(table).size() > 1) out += MarkdownTable(MatrixLines(table, notes));
  out += MarkdownTable(LinesOf(table, notes));
  for (std::size_t i = 0; i < notes.texts().size(); ++i)
    out += fmt::format("- \\[{}\\] {}\n", i + 1, MarkdownText(notes.texts()[i]));
  for (const std::string& line : LegendOf(table)) out += MarkdownItem(line);
  return out + fmt::format("\nSpecs {}, retort {}\n", table.spec_hash, VersionText());
}

std::string TableAsLatex(const ResultTable& table) {
  Notes notes;
  std::string out = fmt::format("% {} of sweep {}; specs {}, retort {}; needs booktabs\n", table.spec.name, table.sweep,
                                table.spec_hash, VersionText());
  out += "\\begingroup\\footnotesize\\setlength{\\tabcolsep}{3pt}\n";
  if (ColumnsOf(table).size() > 1) out += LatexTable(MatrixLines(table, notes), false) + "\\medskip\n\n";
  out += LatexTable(LinesOf(table, notes), true) + "\\begin{itemize}\n";
  for (std::size_t i = 0; i < notes.texts().size(); ++i)
    out += fmt::format("\\item[{{[{}]}}] ", i + 1) + LatexText(notes.texts()[i]) + "\n";
  for (const std::string& line : LegendOf(table)) out += "\\item{} " + LatexText(line) + "\n";
  return out + "\\end{itemize}\n\\endgroup\n";
}

}  // namespace retort::orchestrator::cli
