#include "orchestrator/cli/quoted_cells.h"

#include <algorithm>
#include <string>

#include "orchestrator/cli/number_text.h"
#include "orchestrator/cli/spec_field.h"

namespace retort::orchestrator::cli {
namespace {

std::string MetricName(const std::string& metric) { return metric.substr(metric.rfind('.') + 1); }

// Whether a measured cell of the data set already shows this value.
bool ShownBeside(const std::vector<TableCell>& cells, const TableSpec& spec, const PublishedValue& value) {
  const auto method = std::find(spec.rows.begin(), spec.rows.end(), "method");
  if (method == spec.rows.end()) return true;
  const auto at = static_cast<std::size_t>(method - spec.rows.begin());
  return std::any_of(cells.begin(), cells.end(), [&](const TableCell& cell) {
    return cell.published && *cell.published == value.value && ApproachName(cell.row[at]) == value.approach;
  });
}

privacy::Claim QuotedClaim(const PublishedValue& value) {
  privacy::Claim claim;
  claim.delta = value.delta;
  claim.epsilon = *value.epsilon;
  claim.status = privacy::ClaimStatus::paper_formula;
  claim.accountant = "quoted:" + value.paper + "/" + value.table;
  claim.units = "one training example, as the paper claims";
  claim.reason = "as " + value.paper + " claims it; neither run nor checked here";
  return claim;
}

std::vector<std::string> ValuesFor(const std::vector<std::string>& keys, const PublishedValue& value,
                                   const std::string& data) {
  std::vector<std::string> values;
  for (const std::string& key : keys) {
    if (key == "method")
      values.push_back(value.approach);
    else if (key == "data")
      values.push_back(data);
    else if (key == "epsilon")
      values.push_back(value.epsilon ? ShortNumber(*value.epsilon) : "");
    else
      values.emplace_back();
  }
  return values;
}

TableCell CellFor(const PublishedValue& value, const TableSpec& spec, const std::string& data) {
  TableCell cell;
  cell.row = ValuesFor(spec.rows, value, data);
  cell.column = ValuesFor(spec.columns, value, data);
  cell.state = CellState::quoted;
  cell.published = value.value;
  if (value.epsilon) cell.claims.push_back(QuotedClaim(value));
  return cell;
}

}  // namespace

std::vector<TableCell> QuotedCells(const SweepPlan& plan, const TableSpec& spec,
                                   const std::vector<PublishedValue>& published,
                                   const std::vector<TableCell>& cells) {
  std::vector<TableCell> quoted;
  const bool has_place = Holds(spec.rows, "method") &&
                         std::all_of(spec.columns.begin(), spec.columns.end(),
                                     [](const auto& key) { return key == "data" || key == "epsilon"; });
  if (!has_place) return quoted;
  for (const auto& data : plan.data) {
    if (!data->published_as) continue;
    for (const PublishedValue& value : published) {
      const bool wanted = value.dataset == *data->published_as && value.metric == MetricName(spec.metric) &&
                          value.approach != "Teacher";
      if (wanted && !ShownBeside(cells, spec, value)) quoted.push_back(CellFor(value, spec, data->name));
    }
  }
  return quoted;
}

}  // namespace retort::orchestrator::cli
