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
  std::set<std::string> said;
  for (const TableCell& cell : table.cells) {
    std::string statement = cell.working ? WorkingStatement(cell.claims) : "";
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
                     (table.spec.interval == Interval::bootstrap ? "bootstrap percentiles" : "Student t") + ").");
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
        "proven compare among themselves.");
  if (table.smoke)
    legend.emplace_back("smoke: run with --profile smoke, at a size that only shows that it works.");
}

void AddPublished(const ResultTable& table, std::vector<std::string>& legend) {
  if (AnyCell(table, [](const TableCell& cell) { return cell.best_published; }))
    legend.emplace_back("Italic or °: the best published value of a column at the same ε.");
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

std::string MeasuredText(const Summary& summary, const std::string& metric) {
  if (summary.n == 0) return "– missing";
  if (IsFraction(metric))
    return PercentText(summary.mean) + (summary.sd ? " ± " + PercentText(*summary.sd) : "") + " %";
  return fmt::format("{:.4g}", summary.mean) + (summary.sd ? fmt::format(" ± {:.2g}", *summary.sd) : "");
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

std::string IntervalText(const std::pair<double, double>& interval, const std::string& metric) {
  if (IsFraction(metric)) return PercentText(interval.first) + "–" + PercentText(interval.second);
  return fmt::format("{:.4g}–{:.4g}", interval.first, interval.second);
}

std::string MarksOf(const std::vector<std::string>& footnotes, Notes& notes) {
  std::string marks;
  for (const std::string& footnote : footnotes) marks += " " + notes.Mark(footnote);
  return marks;
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
        "Each ε is of one trial (the worst of its seeds). `status` shows what all trials together cost a data set.");
  AddMeasurements(table, legend);
  AddPublished(table, legend);
  for (const std::string& warning : table.warnings) legend.push_back("Warning: " + warning);
  if (table.running) legend.emplace_back("The sweep is running: this is what has finished so far.");
  legend.insert(legend.end(), table.statements.begin(), table.statements.end());
  return legend;
}

}  // namespace retort::orchestrator::cli
