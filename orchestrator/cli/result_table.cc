#include "orchestrator/cli/result_table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

#include "experiments/privacy/privacy_statement.h"
#include "experiments/spec/spec_codec.h"
#include "orchestrator/cli/claim_text.h"
#include "orchestrator/cli/quoted_cells.h"
#include "orchestrator/cli/spec_field.h"
#include "orchestrator/cli/trial_names.h"
#include "orchestrator/cli/worst_claims.h"

namespace retort::orchestrator::cli {
namespace {

using ViewIndex = std::unordered_map<TrialId, const TrialView*>;

// What the trials of one cell or one teacher have in common, gathered over the plan.
struct Gathered {
  std::vector<const TrialSpec*> specs;
  std::vector<double> values;
  std::vector<std::vector<privacy::Claim>> claims;
  int failed = 0;
};

std::optional<double> MetricOf(const TrialView& trial, const std::string& metric) {
  if (!trial.row || trial.state != TrialState::succeeded) return std::nullopt;
  for (const auto& [name, value] : trial.row->metrics)
    if (name == metric) return value;
  return std::nullopt;
}

bool MetricKnown(const ResultsView& view, const std::string& metric) {
  return std::any_of(view.trials.begin(), view.trials.end(),
                     [&](const TrialView& trial) { return MetricOf(trial, metric).has_value(); });
}

void Gather(const TrialSpec& spec, const ViewIndex& views, const std::string& metric, Gathered& into) {
  into.specs.push_back(&spec);
  const auto found = views.find(spec.id);
  if (found == views.end()) return;
  const TrialView& view = *found->second;
  if (const auto value = MetricOf(view, metric)) {
    into.values.push_back(*value);
    into.claims.push_back(view.row->claims);
  } else if (IsFinal(view.state)) {
    ++into.failed;
  }
}

std::vector<TrialId> IdsOf(const Gathered& gathered) {
  std::vector<TrialId> ids;
  for (const TrialSpec* spec : gathered.specs) ids.push_back(spec->id);
  return ids;
}

std::vector<std::string> ValuesOf(const TrialSpec& spec, const std::vector<std::string>& keys) {
  std::vector<std::string> values;
  for (const std::string& key : keys) values.push_back(SpecField(spec, key).value_or(""));
  return values;
}

// The epsilon under which the paper would print this trial: the one asked for, else its formula's.
std::optional<double> PublishedEpsilon(const TrialSpec& spec, const std::vector<privacy::Claim>& claims) {
  if (spec.epsilon > 0) return spec.epsilon;
  for (const privacy::Claim& claim : claims)
    if (claim.status == privacy::ClaimStatus::paper_formula && std::isfinite(claim.epsilon))
      return claim.epsilon;
  return std::nullopt;
}

std::string PublishedMetric(const std::string& metric) { return metric.substr(metric.rfind('.') + 1); }

std::optional<double> JoinPublished(const std::vector<PublishedValue>& published, const TrialSpec& spec,
                                    const std::string& metric, const std::vector<privacy::Claim>& claims) {
  if (published.empty() || !spec.data || !spec.data->published_as) return std::nullopt;
  PublishedKey key;
  key.dataset = *spec.data->published_as;
  key.method = spec.role == Role::teacher ? "teacher" : spec.method;
  key.metric = PublishedMetric(metric);
  key.teacher = spec.teacher;
  if (spec.role == Role::student) {
    key.epsilon = PublishedEpsilon(spec, claims);
    if (!key.epsilon) return std::nullopt;
  }
  return FindPublished(published, key);
}

TableCell CellOf(const Gathered& gathered, const TableSpec& table,
                 const std::vector<PublishedValue>& published) {
  const TrialSpec& first = *gathered.specs.front();
  TableCell cell;
  cell.row = ValuesOf(first, table.rows);
  cell.column = ValuesOf(first, table.columns);
  cell.summary = Summarize(gathered.values);
  cell.planned = static_cast<int>(gathered.specs.size());
  cell.failed = gathered.failed;
  cell.state = cell.summary.n == 0              ? CellState::missing
               : cell.summary.n == cell.planned ? CellState::complete
                                                : CellState::partial;
  cell.claims = WorstClaims(gathered.claims);
  cell.trials = IdsOf(gathered);
  cell.working = first.reading == Reading::working && first.method != "dpsgd";
  cell.published = JoinPublished(published, first, table.metric, cell.claims);
  return cell;
}

TeacherLine TeacherOf(const Gathered& gathered, const TableSpec& table,
                      const std::vector<PublishedValue>& published) {
  const TrialSpec& first = *gathered.specs.front();
  TeacherLine line;
  line.name = first.teacher;
  line.method = first.method;
  line.network = first.network;
  line.data = first.data ? first.data->name : "";
  line.summary = Summarize(gathered.values);
  line.planned = static_cast<int>(gathered.specs.size());
  line.failed = gathered.failed;
  line.claims = WorstClaims(gathered.claims);
  line.trials = IdsOf(gathered);
  line.published = JoinPublished(published, first, table.metric, line.claims);
  return line;
}

// Groups in the order of their first trial.
template <typename Key>
class Groups {
 public:
  Gathered& At(const Key& key) {
    const auto [entry, fresh] = index_.try_emplace(key, groups_.size());
    if (fresh) groups_.emplace_back();
    return groups_[entry->second];
  }
  [[nodiscard]] const std::vector<Gathered>& all() const { return groups_; }

 private:
  std::map<Key, std::size_t> index_;
  std::vector<Gathered> groups_;
};

using RowAndColumn = std::pair<std::vector<std::string>, std::vector<std::string>>;

// Everything that tells two teachers apart, but for the seed; "student" is the key of the network.
std::vector<std::string> TeacherKey(const TrialSpec& spec) {
  std::vector<std::string> key =
      ValuesOf(spec, {"data", "method", "student", "delta", "noise", "threads"});
  key.push_back(spec.teacher);
  return key;
}

std::vector<std::string> UnplacedAxes(const SweepPlan& plan, const TableSpec& table) {
  std::vector<std::string> unplaced;
  for (const TrialSpec& spec : plan.trials)
    for (const auto& [axis, value] : spec.axes)
      if (!Holds(table.rows, axis) && !Holds(table.columns, axis) && !Holds(unplaced, axis))
        unplaced.push_back(axis);
  return unplaced;
}

// Students that agree in the row and column keys, and in `axis` do not.
bool Splits(const SweepPlan& plan, const TableSpec& table, const std::string& axis) {
  std::map<RowAndColumn, std::string> seen;
  for (const TrialSpec& spec : plan.trials) {
    if (spec.role == Role::teacher) continue;
    const std::string value = SpecField(spec, axis).value_or("");
    const auto [cell, fresh] =
        seen.try_emplace({ValuesOf(spec, table.rows), ValuesOf(spec, table.columns)}, value);
    if (!fresh && cell->second != value) return true;
  }
  return false;
}

// With each axis as a row key along which a cell would hold trials that differ in more than their seed.
TableSpec WithEveryAxis(const SweepPlan& plan, TableSpec table) {
  for (const std::string& axis : UnplacedAxes(plan, table))
    if (Splits(plan, table, axis)) table.rows.push_back(axis);
  return table;
}

// Cells of one row stand together, rows in the order of their first trial.
void SortCells(std::vector<TableCell>& cells) {
  std::map<std::vector<std::string>, std::size_t> order;
  for (const TableCell& cell : cells) order.try_emplace(cell.row, order.size());
  std::stable_sort(cells.begin(), cells.end(),
                   [&](const TableCell& a, const TableCell& b) { return order[a.row] < order[b.row]; });
}

std::vector<std::string> WarningsOf(const SweepPlan& plan) {
  std::vector<std::string> warnings;
  for (const TrialSpec& spec : plan.trials) {
    const bool claims_delta = spec.role == Role::student || spec.method == "dpsgd";
    if (!spec.data || !claims_delta) continue;
    privacy::Claim claim;
    claim.delta = spec.delta;
    std::string warning = privacy::DeltaWarning(claim, spec.data->PrivateExamples());
    if (warning.empty()) continue;
    warning = "data set " + spec.data->name + ": " + warning;
    if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end()) warnings.push_back(warning);
  }
  return warnings;
}

// What audits refute of the table's trials.
std::vector<std::string> RefutedIn(const SweepPlan& plan, const ViewIndex& views) {
  std::vector<std::string> warnings;
  for (const TrialSpec& spec : plan.trials) {
    const auto found = views.find(spec.id);
    if (found == views.end()) continue;
    for (const std::string& what : found->second->refuted)
      warnings.push_back("a proven claim of " + ShownName(spec) + " is refuted by " + what +
                         ". Nothing is claimed of it here, nor of what rests on it.");
  }
  return warnings;
}

// Said when nothing at all has been measured under the table's metric although rows are there.
std::string UnknownMetric(const ResultTable& table, const ResultsView& view) {
  for (const TableCell& cell : table.cells)
    if (cell.summary.n > 0) return "";
  std::string known;
  for (const TrialView& trial : view.trials) {
    if (!trial.row || !known.empty()) continue;
    for (const auto& [name, value] : trial.row->metrics) known += (known.empty() ? "" : ", ") + name;
  }
  if (known.empty() || MetricKnown(view, table.spec.metric)) return "";
  return "no row has the metric " + table.spec.metric + "; rows have " + known + ".";
}

std::string HashOf(const SweepPlan& plan) {
  std::vector<std::string> ids;
  for (const TrialSpec& spec : plan.trials) ids.push_back(spec.id.Hex());
  std::sort(ids.begin(), ids.end());
  std::string text;
  for (const std::string& id : ids) text += id;
  return Sha256Hex(text).substr(0, 12);
}

}  // namespace

std::string_view CellStateName(CellState state) {
  switch (state) {
    case CellState::complete:
      return "complete";
    case CellState::partial:
      return "partial";
    case CellState::missing:
      return "missing";
    case CellState::quoted:
      return "quoted";
  }
  return "";
}

ResultTable BuildTable(const SweepPlan& plan, const TableSpec& asked, const ResultsView& view,
                       const std::vector<PublishedValue>& published) {
  const TableSpec spec = WithEveryAxis(plan, asked);
  ViewIndex views;
  for (const TrialView& trial : view.trials) views.emplace(trial.spec.id, &trial);
  Groups<RowAndColumn> cells;
  Groups<std::vector<std::string>> teachers;
  for (const TrialSpec& trial : plan.trials) {
    if (trial.role == Role::teacher) {
      Gather(trial, views, spec.metric, teachers.At(TeacherKey(trial)));
    } else {
      Gather(trial, views, spec.metric,
             cells.At({ValuesOf(trial, spec.rows), ValuesOf(trial, spec.columns)}));
    }
  }
  ResultTable table;
  table.spec = spec;
  table.sweep = plan.name;
  for (const Gathered& gathered : teachers.all())
    table.teachers.push_back(TeacherOf(gathered, spec, published));
  for (const Gathered& gathered : cells.all()) table.cells.push_back(CellOf(gathered, spec, published));
  for (TableCell& quoted : QuotedCells(plan, spec, published, table.cells))
    table.cells.push_back(std::move(quoted));
  SortCells(table.cells);
  table.warnings = RefutedIn(plan, views);
  for (std::string& warning : WarningsOf(plan)) table.warnings.push_back(std::move(warning));
  if (std::string warning = UnknownMetric(table, view); !warning.empty())
    table.warnings.push_back(std::move(warning));
  table.spec_hash = HashOf(plan);
  table.running = view.running;
  return table;
}

TableSpec DefaultTable(const SweepPlan& plan) {
  TableSpec table;
  table.name = plan.name;
  table.rows = {"method", "reading", "teacher"};
  table.columns = {"data"};
  return table;
}

}  // namespace retort::orchestrator::cli
