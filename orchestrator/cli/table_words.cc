#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "orchestrator/cli/claim_text.h"
#include "orchestrator/cli/number_text.h"
#include "orchestrator/cli/table_format.h"
#include "orchestrator/cli/version.h"

namespace retort::orchestrator::cli {
namespace {

bool IsFraction(const std::string& metric) { return metric.find("accuracy") != std::string::npos; }

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
  for (const TableCell& cell : table.cells) {
    const std::string statement = cell.working ? WorkingStatement(cell.claims) : "";
    if (!statement.empty() && std::find(legend.begin(), legend.end(), statement) == legend.end())
      legend.push_back(statement);
  }
}

}  // namespace

std::string MeasuredText(const Summary& summary, const std::string& metric) {
  if (summary.n == 0) return "missing";
  if (IsFraction(metric))
    return PercentText(summary.mean) + (summary.sd ? " ± " + PercentText(*summary.sd) : "") + " %";
  return fmt::format("{:.4g}", summary.mean) + (summary.sd ? fmt::format(" ± {:.2g}", *summary.sd) : "");
}

std::string MeasuredText(const TableCell& cell, const std::string& metric) {
  return cell.state == CellState::quoted ? "quoted" : MeasuredText(cell.summary, metric);
}

std::string SeedsText(const Summary& summary, int planned, int failed) {
  if (planned == 0) return "–";
  std::string text = summary.n == planned ? fmt::format("n={}", summary.n)
                     : summary.n == 0     ? fmt::format("0 of {}", planned)
                                          : fmt::format("n={} of {}", summary.n, planned);
  if (failed > 0) text += fmt::format(", {} failed", failed);
  return text;
}

std::string PublishedText(double published, const std::string& metric) {
  return IsFraction(metric) ? PercentText(published) + " %" : fmt::format("{:.4g}", published);
}

std::vector<std::string> LegendOf(const ResultTable& table) {
  std::vector<std::string> legend;
  if (HasFormula(table))
    legend.emplace_back("†: the paper's formula at this run's parameters; not a guarantee.");
  std::set<privacy::Adjacency> seen;
  for (const auto* claims : AllClaims(table))
    for (const privacy::Claim& claim : *claims)
      if (seen.insert(claim.adjacency).second) legend.push_back(AdjacencyLegend(claim.adjacency) + ".");
  AddWorkingStatements(table, legend);
  if (!seen.empty())
    legend.emplace_back(
        "Each ε is of one trial (the worst of its seeds). What all trials together cost a data set: `retort "
        "status`.");
  const bool spread =
      std::any_of(table.cells.begin(), table.cells.end(), [](const TableCell& c) { return c.summary.n > 1; });
  if (spread) legend.emplace_back("±: sample standard deviation over n seeds.");
  const bool joined = std::any_of(table.cells.begin(), table.cells.end(),
                                  [](const TableCell& c) { return c.published.has_value(); });
  if (joined)
    legend.push_back("published: " + table.spec.published +
                     ", at the paper's own ε, which is its formula's and not a proven one.");
  else if (!table.spec.published.empty())
    legend.push_back("No value of " + table.spec.published +
                     " is for the data set, method and ε of these rows.");
  for (const std::string& warning : table.warnings) legend.push_back("Warning: " + warning);
  if (table.running) legend.emplace_back("The sweep is running: this is what has finished so far.");
  legend.insert(legend.end(), table.statements.begin(), table.statements.end());
  return legend;
}

}  // namespace retort::orchestrator::cli
