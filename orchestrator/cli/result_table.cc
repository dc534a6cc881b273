#include "orchestrator/cli/result_table.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "experiments/privacy/privacy_statement.h"
#include "experiments/spec/spec_codec.h"
#include "experiments/spec/trial_kind.h"
#include "orchestrator/cli/published_join.h"
#include "orchestrator/cli/quoted_cells.h"
#include "orchestrator/cli/table_marks.h"
#include "orchestrator/cli/table_trials.h"
#include "orchestrator/cli/trial_names.h"
#include "orchestrator/cli/worst_claims.h"
#include "orchestrator/refuted_claims.h"

namespace retort::orchestrator::cli {
namespace {

using ViewIndex = std::unordered_map<TrialId, const TrialView*>;

// What the trials of one cell or one teacher have in common, gathered over the plan.
struct Gathered {
  std::vector<const TrialSpec*> specs;
  std::vector<double> values;
  std::vector<std::vector<privacy::Claim>> claims;
  int failed = 0;
  bool examples_left_out = false;  // of the data set, which may be test examples
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
    into.examples_left_out = into.examples_left_out || MetricOf(view, "data.skipped").value_or(0) > 0;
  } else if (IsFinal(view.state) && view.state != TrialState::succeeded) {
    ++into.failed;
  }
}

std::vector<TrialId> IdsOf(const Gathered& gathered) {
  std::vector<TrialId> ids;
  for (const TrialSpec* spec : gathered.specs) ids.push_back(spec->id);
  return ids;
}

// Metrics that are a fraction of all test examples.
bool OfTheTestSet(const std::string& metric) { return metric == "test.accuracy" || metric == "test.top5"; }

std::optional<TestInterval> TestIntervalOf(const Gathered& gathered, const Summary& summary,
                                           const std::string& metric) {
  const TrialSpec& first = *gathered.specs.front();
  if (summary.n == 0 || !first.data || gathered.examples_left_out || !OfTheTestSet(metric)) return std::nullopt;
  TestInterval interval;
  interval.n = first.data->split.test.size();
  if (interval.n < 1 || summary.mean < 0 || summary.mean > 1) return std::nullopt;
  std::tie(interval.low, interval.high) = WilsonInterval(summary.mean, interval.n);
  return interval;
}

// Cells and teacher lines have these members alike.
template <typename Line>
void PutJoin(const Join& join, const TrialSpec& spec, Line& line) {
  if (join.value == nullptr) return;
  line.published = join.value->value;
  line.source = *join.value;
  if (!join.value->note.empty()) line.notes.push_back(PublishedNote(*join.value));
  if (!join.value->epsilon && spec.role == Role::student && spec.epsilon > 0)
    line.notes.push_back(join.value->paper + "/" + join.value->table + ": no ε is stated for this value");
}

TableCell CellOf(const Gathered& gathered, const TableSpec& table) {
  const TrialSpec& first = *gathered.specs.front();
  TableCell cell;
  cell.row = ValuesOf(first, table.rows);
  cell.column = ValuesOf(first, table.columns);
  cell.summary = Summarize(gathered.values, table.interval);
  cell.planned = static_cast<int>(gathered.specs.size());
  cell.failed = gathered.failed;
  cell.state = cell.summary.n == 0              ? CellState::missing
               : cell.summary.n == cell.planned ? CellState::complete
                                                : CellState::partial;
  cell.claims = WorstClaims(gathered.claims);
  cell.trials = IdsOf(gathered);
  cell.working = first.reading == Reading::working && KindOf(first) != TrialKind::dpsgd_student;
  cell.data = first.data ? first.data->name : "";
  cell.epsilon = first.epsilon;
  cell.test = TestIntervalOf(gathered, cell.summary, table.metric);
  return cell;
}

TeacherLine TeacherOf(const Gathered& gathered, const TableSpec& table, PublishedJoiner& joiner) {
  const TrialSpec& first = *gathered.specs.front();
  TeacherLine line;
  line.name = first.teacher;
  line.method = first.method;
  line.network = first.network;
  line.data = first.data ? first.data->name : "";
  line.summary = Summarize(gathered.values, table.interval);
  line.planned = static_cast<int>(gathered.specs.size());
  line.failed = gathered.failed;
  line.claims = WorstClaims(gathered.claims);
  line.trials = IdsOf(gathered);
  line.test = TestIntervalOf(gathered, line.summary, table.metric);
  PutJoin(joiner.For(first, line.claims), first, line);
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

// Measured cells with what is published beside them, and what is published alone.
std::vector<TableCell> CellsOf(const SweepPlan& plan, const TableSpec& spec, const std::vector<Gathered>& groups,
                               PublishedJoiner& joiner) {
  std::vector<TableCell> cells;
  TrialPointers firsts;
  std::vector<Join> joins;
  for (const Gathered& gathered : groups) {
    cells.push_back(CellOf(gathered, spec));
    firsts.push_back(gathered.specs.front());
    joins.push_back(joiner.For(*firsts.back(), cells.back().claims));
  }
  joiner.SettleShared(firsts, joins);
  std::set<ShownValue> shown;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    PutJoin(joins[i], *firsts[i], cells[i]);
    if (joins[i].value != nullptr) shown.emplace(joins[i].value, cells[i].data);
  }
  for (TableCell& quoted : QuotedCells(plan, spec, joiner, firsts, shown)) cells.push_back(std::move(quoted));
  return cells;
}

// Cells of one row stand together, rows in the order of their first trial.
void SortCells(std::vector<TableCell>& cells) {
  std::map<std::vector<std::string>, std::size_t> order;
  std::vector<std::pair<std::size_t, std::size_t>> places;  // of the row, of the cell
  for (std::size_t i = 0; i < cells.size(); ++i)
    places.emplace_back(order.try_emplace(cells[i].row, order.size()).first->second, i);
  std::sort(places.begin(), places.end());
  std::vector<TableCell> sorted;
  sorted.reserve(cells.size());
  for (const auto& [row, cell] : places) sorted.push_back(std::move(cells[cell]));
  cells = std::move(sorted);
}

std::vector<std::string> WarningsOf(const TrialPointers& trials) {
  std::vector<std::string> warnings;
  for (const TrialSpec* spec : trials) {
    const bool claims_delta = spec->role == Role::student || KindOf(*spec) == TrialKind::dpsgd_teacher;
    if (!spec->data || !claims_delta) continue;
    privacy::Claim claim;
    claim.delta = spec->delta;
    std::string warning = privacy::DeltaWarning(claim, spec->data->PrivateExamples());
    if (warning.empty()) continue;
    warning = "data set " + spec->data->name + ": " + warning;
    if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end()) warnings.push_back(warning);
  }
  return warnings;
}

// What audits refute of the table's trials, and may have refuted.
std::vector<std::string> RefutedIn(const TrialPointers& trials, const ViewIndex& views) {
  std::vector<std::string> warnings;
  for (const TrialSpec* spec : trials) {
    const auto found = views.find(spec->id);
    if (found == views.end()) continue;
    for (std::string& warning : AuditWarnings(*found->second, ShownName(*spec))) warnings.push_back(std::move(warning));
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

std::string HashOf(const TrialPointers& trials) {
  std::vector<std::string> ids;
  for (const TrialSpec* spec : trials) ids.push_back(spec->id.Hex());
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
  const TrialPointers trials = TrialsOf(plan, asked);
  ResultTable table;
  table.spec = WithEveryAxis(trials, asked);
  const TableSpec& spec = table.spec;
  ViewIndex views;
  for (const TrialView& trial : view.trials) views.emplace(trial.spec.id, &trial);
  Groups<RowAndColumn> cells;
  Groups<std::vector<std::string>> teachers;
  for (const TrialSpec* trial : trials) {
    if (trial->role == Role::teacher) {
      Gather(*trial, views, spec.metric, teachers.At(TeacherKey(*trial)));
    } else {
      Gather(*trial, views, spec.metric,
             cells.At({ValuesOf(*trial, spec.rows), ValuesOf(*trial, spec.columns)}));
    }
  }
  table.sweep = plan.name;
  table.smoke = plan.profile == "smoke";
  PublishedJoiner joiner(plan, spec, published);
  for (const Gathered& gathered : teachers.all()) table.teachers.push_back(TeacherOf(gathered, spec, joiner));
  table.cells = CellsOf(plan, spec, cells.all(), joiner);
  SortCells(table.cells);
  MarkBest(table);
  joiner.WarnOfIdleRules();
  table.warnings = RefutedIn(trials, views);
  for (std::string& warning : WarningsOf(trials)) table.warnings.push_back(std::move(warning));
  for (const std::string& warning : joiner.warnings()) table.warnings.push_back(warning);
  if (std::string warning = UnknownMetric(table, view); !warning.empty())
    table.warnings.push_back(std::move(warning));
  table.spec_hash = HashOf(trials);
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
