#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "orchestrator/cli/claim_text.h"
#include "orchestrator/cli/table_format.h"
#include "orchestrator/cli/table_lines.h"
#include "orchestrator/cli/version.h"

namespace retort::orchestrator::cli {
namespace {

// The lines of both markups: keys and measurement on the first line of an entry, claims down the side.
struct MarkupLines {
  std::vector<std::string> header;
  struct Line {
    bool first = false;  // of its entry
    std::vector<std::string> cells;
  };
  std::vector<Line> lines;
  Notes notes;
};

std::vector<std::string> FirstCells(const TableEntry& entry, const std::string& metric) {
  std::vector<std::string> cells = {entry.role};
  for (const std::string& key : entry.keys) cells.push_back(key.empty() ? "–" : key);
  cells.push_back(entry.state == CellState::quoted ? "quoted" : MeasuredText(*entry.summary, metric));
  cells.push_back(SeedsText(*entry.summary, entry.planned, entry.failed));
  cells.push_back(entry.published ? PublishedText(*entry.published, metric) : "–");
  return cells;
}

MarkupLines LinesOf(const ResultTable& table) {
  MarkupLines markup;
  markup.header = {"role"};
  for (const std::string& name : KeyNames(table)) markup.header.push_back(name);
  for (const std::string& name :
       {table.spec.metric, std::string("n"), std::string("published"), std::string("protects"),
        std::string("neighbours"), std::string("δ"), std::string("ε"), std::string("basis")})
    markup.header.push_back(name);
  for (const TableEntry& entry : EntriesOf(table)) {
    std::vector<std::string> cells = FirstCells(entry, table.spec.metric);
    for (std::size_t i = 0; i < std::max<std::size_t>(entry.claims->size(), 1); ++i) {
      if (i > 0) std::fill(cells.begin(), cells.end(), "");
      std::vector<std::string> line = cells;
      if (i < entry.claims->size()) {
        const ClaimCells claim = CellsOf((*entry.claims)[i], markup.notes);
        for (const std::string& cell :
             {claim.protects, claim.neighbours, claim.delta, claim.epsilon, claim.basis})
          line.push_back(cell);
      }
      line.resize(markup.header.size());
      markup.lines.push_back({i == 0, std::move(line)});
    }
  }
  return markup;
}

std::string Replaced(const std::string& text, const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto found = std::find_if(pairs.begin(), pairs.end(), [&](const auto& pair) {
      return text.compare(i, pair.first.size(), pair.first) == 0;
    });
    out += found == pairs.end() ? std::string(1, text[i]) : found->second;
    i += found == pairs.end() ? 1 : found->first.size();
  }
  return out;
}

std::string MarkdownCell(const std::string& text) { return Replaced(text, {{"|", "\\|"}, {"\n", " "}}); }

std::string LatexText(const std::string& text) {
  return Replaced(text, {{"\\", "\\textbackslash{}"},
                         {"&", "\\&"},
                         {"%", "\\%"},
                         {"$", "\\$"},
                         {"#", "\\#"},
                         {"_", "\\_"},
                         {"{", "\\{"},
                         {"}", "\\}"},
                         {"~", "\\textasciitilde{}"},
                         {"^", "\\^{}"},
                         {"ε", "$\\varepsilon$"},
                         {"δ", "$\\delta$"},
                         {"∞", "$\\infty$"},
                         {"†", "$\\dag$"},
                         {"±", "$\\pm$"},
                         {"≤", "$\\le$"},
                         {"≥", "$\\ge$"},
                         {"–", "--"},
                         {"σ", "$\\sigma$"},
                         {"μ", "$\\mu$"},
                         {"κ", "$\\kappa$"},
                         {"√", "$\\surd$"},
                         {"×", "$\\times$"},
                         {"²", "$^2$"},
                         {"`", "'"}});
}

std::string LatexLine(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i == 0 ? "" : " & ") + LatexText(cells[i]);
  return line + " \\\\\n";
}

}  // namespace

std::string TableAsMarkdown(const ResultTable& table) {
  const MarkupLines markup = LinesOf(table);
  std::string out = fmt::format("### {} of sweep {}\n\n|", table.spec.name, table.sweep);
  for (const std::string& name : markup.header) out += " " + MarkdownCell(name) + " |";
  out += "\n|";
  for (std::size_t i = 0; i < markup.header.size(); ++i) out += "---|";
  for (const MarkupLines::Line& line : markup.lines) {
    out += "\n|";
    for (const std::string& cell : line.cells) out += " " + MarkdownCell(cell) + " |";
  }
  out += "\n\n";
  const std::vector<std::string>& notes = markup.notes.texts();
  for (std::size_t i = 0; i < notes.size(); ++i) out += fmt::format("- \\[{}\\] {}\n", i + 1, notes[i]);
  for (const std::string& line : LegendOf(table)) out += "- " + line + "\n";
  return out + fmt::format("\nSpecs {}, retort {}\n", table.spec_hash, VersionText());
}

std::string TableAsLatex(const ResultTable& table) {
  const MarkupLines markup = LinesOf(table);
  std::string out = fmt::format("% {} of sweep {}; specs {}, retort {}; needs booktabs and amssymb\n",
                                table.spec.name, table.sweep, table.spec_hash, VersionText());
  out += "\\begin{tabular}{" + std::string(markup.header.size(), 'l') + "}\n\\toprule\n" +
         LatexLine(markup.header);
  for (const MarkupLines::Line& line : markup.lines)
    out += (line.first ? "\\midrule\n" : "") + LatexLine(line.cells);
  out += "\\bottomrule\n\\end{tabular}\n\n\\begin{itemize}\n";
  const std::vector<std::string>& notes = markup.notes.texts();
  for (std::size_t i = 0; i < notes.size(); ++i)
    out += fmt::format("\\item{{}} [{}] ", i + 1) + LatexText(notes[i]) + "\n";
  for (const std::string& line : LegendOf(table)) out += "\\item{} " + LatexText(line) + "\n";
  return out + "\\end{itemize}\n";
}

}  // namespace retort::orchestrator::cli
