#include "orchestrator/results/tables/result_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "experiments/base/digests.h"
#include "experiments/base/number_text.h"
#include "experiments/methods/methods.h"
#include "experiments/methods/spec_codec.h"
#include "experiments/methods/spec_keys.h"
#include "experiments/methods/stated_settings.h"
#include "experiments/privacy/statement.h"
#include "orchestrator/results/refuted_claims.h"
#include "orchestrator/results/search_standing.h"
#include "orchestrator/results/synthetic_store.h"
#include "orchestrator/results/tables/published_join.h"
#include "orchestrator/results/tables/settings_notes.h"
#include "orchestrator/results/tables/statistics.h"
#include "orchestrator/results/tables/table_trials.h"
#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator {
namespace {

using TrialViews = std::unordered_map<TrialId, const TrialView*>;

// What the trials of one cell or one teacher have in common, gathered over the plan.
struct Gathered {
  std::vector<const TrialSpec*> specs;
  std::vector<double> values;
  std::vector<std::vector<privacy::Claim>> claims;
  int failed = 0;
  bool examples_left_out = false;    // of the data set, which may be test examples
  std::optional<double> parameters;  // trainable values of the network
};

std::optional<double> FindMetric(const TrialView& trial, const std::string& metric) {
  if (!trial.row || trial.state != TrialState::succeeded) return std::nullopt;
  for (const auto& [name, value] : trial.row->metrics)
    if (name == metric) return value;
  return std::nullopt;
}

bool MetricKnown(const ResultsView& view, const std::string& metric) {
  return std::any_of(view.trials.begin(), view.trials.end(),
                     [&](const TrialView& trial) { return FindMetric(trial, metric).has_value(); });
}

void Gather(const TrialSpec& spec, const TrialViews& views, const std::string& metric, Gathered& into) {
  into.specs.push_back(&spec);
  const auto found = views.find(spec.id);
  if (found == views.end()) return;
  const TrialView& view = *found->second;
  if (!into.parameters) into.parameters = FindMetric(view, "student.parameters");
  if (const auto value = FindMetric(view, metric)) {
    into.values.push_back(*value);
    into.claims.push_back(view.row->claims);
    into.examples_left_out = into.examples_left_out || FindMetric(view, "data.skipped").value_or(0) > 0;
  } else if (IsFinal(view.state) && view.state != TrialState::succeeded) {
    ++into.failed;
  }
}

std::vector<TrialId> ListIds(const Gathered& gathered) {
  std::vector<TrialId> ids;
  for (const TrialSpec* spec : gathered.specs) ids.push_back(spec->id);
  return ids;
}

// Metrics that are a fraction of all test examples.
bool OfTheTestSet(const std::string& metric) {
  return metric == "test.accuracy" || metric == "test.top5" || metric == "synthetic.accuracy";
}

std::optional<TestInterval> ComputeTestInterval(const Gathered& gathered, const SeedSummary& summary,
                                                const std::string& metric) {
  const TrialSpec& first = *gathered.specs.front();
  if (summary.n == 0 || !first.data || gathered.examples_left_out || !OfTheTestSet(metric)) return std::nullopt;
  TestInterval interval;
  interval.n = first.data->split.test.size();
  if (interval.n < 1 || summary.mean < 0 || summary.mean > 1) return std::nullopt;
  std::tie(interval.low, interval.high) = ComputeWilsonInterval(summary.mean, interval.n);
  return interval;
}

// The number of parameters that the paper prints for the network of this value, where it prints one; or null.
const PublishedValue* FindPrintedParameters(const PublishedValue& value, const std::vector<PublishedValue>& published) {
  const auto found = std::find_if(published.begin(), published.end(), [&](const PublishedValue& other) {
    return other.metric == "parameters" && other.paper == value.paper && other.table == value.table &&
           other.dataset == value.dataset && other.approach == value.approach && other.epsilon == value.epsilon;
  });
  return found == published.end() ? nullptr : &*found;
}

// What a reader has to know of a value among `published` beside the trials that `gathered` holds.
std::vector<std::string> ListNotes(const PublishedValue& value, const std::vector<PublishedValue>& published,
                                   const Gathered& gathered) {
  const TrialSpec& spec = *gathered.specs.front();
  const std::string from = value.paper + "/" + value.table + ": ";
  std::vector<std::string> notes;
  if (!value.note.empty()) notes.push_back(FormatPublishedNote(value));
  if (!value.epsilon && spec.role == Role::student && spec.privacy.epsilon > 0)
    notes.push_back(from + "no ε is stated for this value");
  const bool of_epsilon = value.epsilon && spec.role == Role::student && FindStated(spec, "delta") == nullptr;
  const bool open = of_epsilon || !FindDeltaPlaces(spec).empty();
  if (open && !value.delta)
    notes.push_back(from + "no δ is stated for this value; δ = " + FormatShortNumber(spec.privacy.delta) +
                    " is chosen here");
  if (spec.role == Role::student && !HasSameDelta(value, spec))
    notes.push_back(from + "published at δ = " + FormatShortNumber(*value.delta) + "; here it is " +
                    FormatShortNumber(spec.privacy.delta));
  const PublishedValue* printed = FindPrintedParameters(value, published);
  if (printed != nullptr && gathered.parameters && !RoundsToPrinted(*printed, *gathered.parameters))
    notes.push_back(from + "another network: the paper's has " + printed->printed + " parameters");
  return notes;
}

// Cells and teacher lines have these members alike.
template <typename Line>
void PutJoin(const Join& join, const PublishedJoiner& joiner, const Gathered& gathered, Line& line) {
  if (join.value == nullptr) return;
  line.published = join.value->value;
  line.source = *join.value;
  line.notes = ListNotes(*join.value, joiner.values(), gathered);
}

TableCell MakeCell(const Gathered& gathered, const TableSpec& table) {
  const TrialSpec& first = *gathered.specs.front();
  TableCell cell;
  cell.row = ListValues(first, table.rows);
  cell.column = ListValues(first, table.columns);
  cell.summary = Summarize(gathered.values, table.interval);
  cell.planned = static_cast<int>(gathered.specs.size());
  cell.failed = gathered.failed;
  cell.state = cell.summary.n == 0              ? CellState::missing
               : cell.summary.n == cell.planned ? CellState::complete
                                                : CellState::partial;
  cell.claims = FindWorstClaims(gathered.claims);
  cell.trials = ListIds(gathered);
  const bool working = FindNoiseForm(first.reading) == NoiseForm::by_row_over_batch;
  if (working && !TrainsByDpSgd(FindKind(first))) cell.working = FormatKey(first, "reading");
  cell.data = first.data ? first.data->name : "";
  cell.epsilon = first.privacy.epsilon;
  cell.test = ComputeTestInterval(gathered, cell.summary, table.metric);
  return cell;
}

TeacherLine FindTeacher(const Gathered& gathered, const TableSpec& table, PublishedJoiner& joiner) {
  const TrialSpec& first = *gathered.specs.front();
  TeacherLine line;
  line.name = first.teacher;
  line.method = first.method;
  line.network = first.network;
  line.data = first.data ? first.data->name : "";
  line.summary = Summarize(gathered.values, table.interval);
  line.planned = static_cast<int>(gathered.specs.size());
  line.failed = gathered.failed;
  line.claims = FindWorstClaims(gathered.claims);
  line.trials = ListIds(gathered);
  line.test = ComputeTestInterval(gathered, line.summary, table.metric);
  PutJoin(joiner.For(first, line.claims), joiner, gathered, line);
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
std::vector<TableCell> MakeClaimCells(const SweepPlan& plan, const TableSpec& spec, const std::vector<Gathered>& groups,
                                      PublishedJoiner& joiner) {
  std::vector<TableCell> cells;
  TrialPointers firsts;
  std::vector<Join> joins;
  for (const Gathered& gathered : groups) {
    cells.push_back(MakeCell(gathered, spec));
    firsts.push_back(gathered.specs.front());
    joins.push_back(joiner.For(*firsts.back(), cells.back().claims));
  }
  joiner.SettleShared(firsts, joins);
  std::set<ShownValue> shown;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    PutJoin(joins[i], joiner, groups[i], cells[i]);
    if (joins[i].value != nullptr) shown.emplace(joins[i].value, cells[i].data);
  }
  for (TableCell& quoted : MakeQuotedCells(plan, spec, joiner, firsts, shown)) cells.push_back(std::move(quoted));
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

std::vector<std::string> ListWarnings(const TrialPointers& trials) {
  std::vector<std::string> warnings;
  for (const TrialSpec* spec : trials) {
    const bool claims_delta = spec->role == Role::student || IsPrivateTeacher(FindKind(*spec));
    if (!spec->data || !claims_delta) continue;
    privacy::Claim claim;
    claim.delta = spec->privacy.delta;
    std::string warning = privacy::FormatDeltaWarning(claim, spec->data->PrivateExamples());
    if (warning.empty()) continue;
    warning = "data set " + spec->data->name + ": " + warning;
    if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end()) warnings.push_back(warning);
  }
  return warnings;
}

// What audits refute of the table's trials, and may have refuted.
std::vector<std::string> RefutedIn(const TrialPointers& trials, const TrialViews& views) {
  std::vector<std::string> warnings;
  for (const TrialSpec* spec : trials) {
    const auto found = views.find(spec->id);
    if (found == views.end()) continue;
    for (std::string& warning : AuditWarnings(*found->second, FormatTrialName(*spec)))
      warnings.push_back(std::move(warning));
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
  return "no row has the metric " + table.spec.metric + "; rows have " + known + "." +
         (IsSynthetic(table.spec.metric) ? " `retort sample TRIAL --evaluate` measures it." : "");
}

std::string ComputeHash(const TrialPointers& trials) {
  std::vector<std::string> ids;
  for (const TrialSpec* spec : trials) ids.push_back(spec->id.Hex());
  std::sort(ids.begin(), ids.end());
  std::string text;
  for (const std::string& id : ids) text += id;
  return ComputeSha256Hex(text).substr(0, 12);
}

}  // namespace

std::string_view GetCellStateName(CellState state) {
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
  const TrialPointers trials = FindTrials(plan, asked);
  ResultTable table;
  table.spec = AddUnplacedAxes(trials, asked);
  const TableSpec& spec = table.spec;
  TrialViews views;
  for (const TrialView& trial : view.trials) views.emplace(trial.spec.id, &trial);
  Groups<RowAndColumn> cells;
  Groups<std::vector<std::string>> teachers;
  for (const TrialSpec* trial : trials) {
    if (trial->role == Role::teacher) {
      Gather(*trial, views, spec.metric, teachers.At(MakeTeacherKey(*trial)));
    } else {
      Gather(*trial, views, spec.metric, cells.At({ListValues(*trial, spec.rows), ListValues(*trial, spec.columns)}));
    }
  }
  table.sweep = plan.name;
  table.smoke = plan.profile == "smoke";
  PublishedJoiner joiner(plan, spec, published);
  for (const Gathered& gathered : teachers.all()) table.teachers.push_back(FindTeacher(gathered, spec, joiner));
  table.cells = MakeClaimCells(plan, spec, cells.all(), joiner);
  SortCells(table.cells);
  AddSettings(trials, table);
  if (plan.search) table.search = {DescribeStanding(FindStanding(plan, view)), DescribeSearchCost(plan.search->score)};
  MarkBest(table);
  joiner.AddIdleRuleWarnings();
  table.warnings = RefutedIn(trials, views);
  for (std::string& warning : ListWarnings(trials)) table.warnings.push_back(std::move(warning));
  for (const std::string& warning : joiner.warnings()) table.warnings.push_back(warning);
  if (std::string warning = UnknownMetric(table, view); !warning.empty()) table.warnings.push_back(std::move(warning));
  table.spec_hash = ComputeHash(trials);
  table.running = view.running;
  return table;
}

TableSpec MakeDefaultTable(const SweepPlan& plan) {
  TableSpec table;
  table.name = plan.name;
  table.rows = {"method", "reading", "teacher"};
  table.columns = {"data"};
  return table;
}

namespace {

// Column, data set and ε, and what the ε is worth: of an example and proven, of a label, or another.
using Comparable = std::tuple<std::vector<std::string>, std::string, double, int>;

bool Has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

bool ProvenForExamples(const TableCell& cell) {
  return std::any_of(cell.claims.begin(), cell.claims.end(), [](const privacy::Claim& claim) {
    return claim.adjacency == privacy::Adjacency::example && claim.status == privacy::ClaimStatus::proven &&
           std::isfinite(claim.epsilon);
  });
}

bool IsOfLabels(const TableCell& cell) {
  return std::any_of(cell.claims.begin(), cell.claims.end(), [](const privacy::Claim& claim) {
    return claim.adjacency == privacy::Adjacency::label && std::isfinite(claim.epsilon);
  });
}

int FindWorth(const TableCell& cell) { return ProvenForExamples(cell) ? 1 : IsOfLabels(cell) ? 2 : 0; }

int FindWorth(const PublishedValue& value) { return FindAdjacency(value) == privacy::Adjacency::label ? 2 : 0; }

// `value` of those that read as the best of `cells` does.
template <typename Value, typename Mark>
void MarkBestCells(const std::vector<TableCell*>& cells, int direction, const std::string& metric, Value value,
                   Mark mark) {
  if (cells.size() < 2) return;
  double best = value(*cells.front());
  for (const TableCell* cell : cells)
    best = direction > 0 ? std::max(best, value(*cell)) : std::min(best, value(*cell));
  const std::string text = FormatPublished(best, metric);
  for (TableCell* cell : cells)
    if (FormatPublished(value(*cell), metric) == text) mark(*cell);
}

}  // namespace

int GetBetterDirection(const std::string& metric) {
  for (const char* more : {"accuracy", "top5", "inception_score"})
    if (Has(metric, more)) return 1;
  for (const char* less : {"loss", "seconds", "minutes", "parameters", "error"})
    if (Has(metric, less)) return -1;
  return 0;
}

void MarkBest(ResultTable& table) {
  const int direction = GetBetterDirection(table.spec.metric);
  if (direction == 0) return;
  std::map<Comparable, std::vector<TableCell*>> measured, published;
  for (TableCell& cell : table.cells) {
    if (cell.summary.n > 0) measured[{cell.column, cell.data, cell.epsilon, FindWorth(cell)}].push_back(&cell);
    if (cell.published && cell.source)
      published[{cell.column, cell.data, cell.source->epsilon.value_or(0), FindWorth(*cell.source)}].push_back(&cell);
  }
  for (const auto& [key, cells] : measured)
    MarkBestCells(
        cells, direction, table.spec.metric, [](const TableCell& cell) { return cell.summary.mean; },
        [](TableCell& cell) { cell.best = true; });
  for (const auto& [key, cells] : published)
    MarkBestCells(
        cells, direction, table.spec.metric, [](const TableCell& cell) { return *cell.published; },
        [](TableCell& cell) { cell.best_published = true; });
}

}  // namespace retort::orchestrator
