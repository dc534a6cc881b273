#include "orchestrator/cli/table_marks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "orchestrator/cli/table_format.h"

namespace retort::orchestrator::cli {
namespace {

using Comparable = std::tuple<std::vector<std::string>, std::string, double, bool>;

bool Has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

bool ProvenForExamples(const TableCell& cell) {
  return std::any_of(cell.claims.begin(), cell.claims.end(), [](const privacy::Claim& claim) {
    return claim.adjacency == privacy::Adjacency::example && claim.status == privacy::ClaimStatus::proven &&
           std::isfinite(claim.epsilon);
  });
}

// `value` of those that read as the best of `cells` does.
template <typename Value, typename Mark>
void MarkBestOf(const std::vector<TableCell*>& cells, int direction, const std::string& metric, Value value,
                Mark mark) {
  if (cells.size() < 2) return;
  double best = value(*cells.front());
  for (const TableCell* cell : cells) best = direction > 0 ? std::max(best, value(*cell)) : std::min(best, value(*cell));
  const std::string text = PublishedText(best, metric);
  for (TableCell* cell : cells)
    if (PublishedText(value(*cell), metric) == text) mark(*cell);
}

}  // namespace

int BetterDirection(const std::string& metric) {
  for (const char* more : {"accuracy", "top5", "inception_score"})
    if (Has(metric, more)) return 1;
  for (const char* less : {"loss", "seconds", "minutes", "parameters", "error"})
    if (Has(metric, less)) return -1;
  return 0;
}

void MarkBest(ResultTable& table) {
  const int direction = BetterDirection(table.spec.metric);
  if (direction == 0) return;
  std::map<Comparable, std::vector<TableCell*>> measured, published;
  for (TableCell& cell : table.cells) {
    if (cell.summary.n > 0)
      measured[{cell.column, cell.data, cell.epsilon, ProvenForExamples(cell)}].push_back(&cell);
    if (cell.published && cell.source)
      published[{cell.column, cell.data, cell.source->epsilon.value_or(0), false}].push_back(&cell);
  }
  for (const auto& [key, cells] : measured)
    MarkBestOf(
        cells, direction, table.spec.metric, [](const TableCell& cell) { return cell.summary.mean; },
        [](TableCell& cell) { cell.best = true; });
  for (const auto& [key, cells] : published)
    MarkBestOf(
        cells, direction, table.spec.metric, [](const TableCell& cell) { return *cell.published; },
        [](TableCell& cell) { cell.best_published = true; });
}

}  // namespace retort::orchestrator::cli
