#include "orchestrator/results/tables/figure_data.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "experiments/base/diagnostic.h"
#include "experiments/base/number_text.h"
#include "experiments/methods/spec_keys.h"
#include "orchestrator/results/tables/figure_images.h"
#include "orchestrator/results/tables/figure_words.h"
#include "orchestrator/results/tables/statistics.h"
#include "orchestrator/results/tables/table_trials.h"
#include "orchestrator/results/trial_fields.h"

namespace retort::orchestrator {
namespace {

constexpr std::size_t kMaxPoints = 400;

using Curve = std::vector<std::pair<std::int64_t, double>>;

// What the seeds recorded at one step.
struct AtStep {
  std::vector<double> x, y;
};

double CurveMean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::vector<FigurePoint> MakePoints(const std::map<std::int64_t, AtStep>& steps, int planned) {
  const std::size_t stride = steps.size() / kMaxPoints + 1;
  std::vector<FigurePoint> points;
  std::size_t index = 0;
  for (const auto& [step, values] : steps) {
    const bool last = index + 1 == steps.size();
    if (index++ % stride != 0 && !last) continue;
    FigurePoint point;
    point.at = std::to_string(step);
    point.x = CurveMean(values.x);
    point.summary = Summarize(values.y);
    point.planned = planned;
    point.state = point.summary.n == planned ? CellState::complete : CellState::partial;
    points.push_back(std::move(point));
  }
  return points;
}

// Curves that trials recorded, averaged over their seeds.
class CurveReader {
 public:
  // All outlive the object.
  CurveReader(const FigureSpec& spec, const FigureSources& sources, const ViewIndex& views)
      : spec_(spec), sources_(sources), views_(views) {}

  // Points of the curves of the series' trials: at each step, the mean over the seeds that recorded it. Steps without
  // the curve that runs along x are left out. No more points than can be told apart: then every second, third, ...
  // Error: as reading the attempts.
  [[nodiscard]] Status Fill(FigureSeries& series);
  // Usage, naming the nearest, where trials recorded curves and none of them is the one; else ok.
  [[nodiscard]] Status UnknownCurve() const;

 private:
  const FigureSpec& spec_;
  const FigureSources& sources_;
  const ViewIndex& views_;
  std::set<std::string> recorded_;
};

Status CurveReader::Fill(FigureSeries& series) {
  std::map<std::int64_t, AtStep> steps;
  std::vector<std::vector<privacy::Claim>> claims;
  for (const TrialId trial : series.trials) {
    const auto view = views_.find(trial);
    if (view == views_.end() || view->second->state != TrialState::succeeded || !view->second->row) continue;
    RETORT_ASSIGN_OR_RETURN(const storage::AttemptFile file, sources_.recorded(*view->second));
    for (const auto& [name, curve] : file.curves) recorded_.insert(name);
    const auto y = file.curves.find(spec_.y);
    if (y == file.curves.end()) continue;
    std::map<std::int64_t, double> along;
    if (const auto x = file.curves.find(spec_.x); x != file.curves.end())
      along.insert(x->second.begin(), x->second.end());
    else if (spec_.x != "step")
      continue;
    for (const auto& [step, value] : y->second) {
      const auto x = along.find(step);
      if (spec_.x != "step" && x == along.end()) continue;
      AtStep& at = steps[step];
      at.x.push_back(spec_.x == "step" ? static_cast<double>(step) : x->second);
      at.y.push_back(value);
    }
    ++series.measured;
    claims.push_back(view->second->row->claims);
  }
  series.points = MakePoints(steps, series.planned);
  series.claims = FindWorstClaims(claims);
  return {};
}

Status CurveReader::UnknownCurve() const {
  if (recorded_.empty()) return {};
  const bool known_y = recorded_.contains(spec_.y);
  if (known_y && (spec_.x == "step" || recorded_.contains(spec_.x))) return {};
  const std::string& wanted = known_y ? spec_.x : spec_.y;
  const std::vector<std::string> names(recorded_.begin(), recorded_.end());
  const std::vector<std::string> near = FindNearest(wanted, names);
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return UsageError("figure." + spec_.name + (known_y ? ".x" : ".y") + ": no trial recorded a curve \"" + wanted +
                    "\"" + (near.empty() ? "" : "; did you mean \"" + near.front() + "\"?") + " There are " + list +
                    ".");
}

// Keys that vary among the students, in the order of the file, each with its values in plan order.
std::vector<std::pair<std::string, std::vector<std::string>>> ListAxes(const SweepPlan& plan) {
  std::vector<std::pair<std::string, std::vector<std::string>>> axes;
  for (const TrialSpec& trial : plan.trials) {
    if (trial.role == Role::teacher) continue;
    for (const auto& [key, value] : trial.axes) {
      auto axis = std::find_if(axes.begin(), axes.end(), [&key](const auto& known) { return known.first == key; });
      if (axis == axes.end()) axis = axes.insert(axes.end(), {key, {}});
      if (!Holds(axis->second, value)) axis->second.push_back(value);
    }
  }
  return axes;
}

bool AllNumbers(const std::vector<std::string>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](const std::string& value) { return value.empty() || ParseFiniteNumber(value).has_value(); });
}

// The first axis of numbers with several values, else of one; empty when there is none.
std::string FirstAxis(const SweepPlan& plan, const FigureSpec& spec, bool numbers) {
  std::string single;
  for (const auto& [key, values] : ListAxes(plan)) {
    if (Holds(spec.series, key) || key == spec.panels || (numbers && !AllNumbers(values))) continue;
    if (values.size() > 1) return key;
    if (single.empty()) single = key;
  }
  return single;
}

// Steps across decades are read on a logarithmic axis.
bool SpansDecades(const SweepPlan& plan, const std::string& key) {
  double low = HUGE_VAL, high = 0;
  for (const auto& [axis, values] : ListAxes(plan)) {
    if (axis != key) continue;
    for (const std::string& value : values) {
      const double number = ParseFiniteNumber(value).value_or(0);
      low = std::min(low, number);
      high = std::max(high, number);
    }
  }
  return low > 0 && std::isfinite(low) && high / low >= 20;
}

Result<std::string> ChosenX(const SweepPlan& plan, const FigureSpec& spec) {
  if (!spec.x.empty()) return spec.x;
  if (spec.kind == FigureKind::curve) return std::string("step");
  const bool numbers = spec.kind == FigureKind::line;
  const std::string axis = FirstAxis(plan, spec, numbers);
  if (!axis.empty()) return axis;
  if (!numbers) return std::string("method");
  return UsageError("figure." + spec.name + " names no x, and " + plan.file +
                    " has no axis of numbers left for it; name one, or choose kind = \"bar\".");
}

TableSpec TableFor(const FigureSpec& spec) {
  TableSpec table;
  table.name = spec.name;
  if (!spec.panels.empty()) table.rows.push_back(spec.panels);
  for (const std::string& key : spec.series)
    if (key != spec.panels && key != spec.x && !Holds(table.rows, key)) table.rows.push_back(key);
  if (spec.kind != FigureKind::curve) table.columns = {spec.x};
  // What the other kinds show is no metric: their cells only gather trials.
  if (spec.kind == FigureKind::line || spec.kind == FigureKind::bar) table.metric = spec.y;
  table.published = spec.published;
  return table;
}

// Gathers the cells of a table into panels and series.
class FigureBuilder {
 public:
  FigureBuilder(FigureData& data, const ResultTable& table, const FigureSources& sources)
      : data_(data), table_(table), sources_(sources), has_panels_(!data.spec.panels.empty()) {
    for (const TrialSpec& trial : sources.plan.trials) specs_.emplace(trial.id, &trial);
    for (const TrialView& trial : sources.view.trials) views_.emplace(trial.spec.id, &trial);
  }

  Status Run() {
    // Images have a panel each, which all keys name.
    const bool images = ShowsImages(data_.spec.kind);
    data_.keys.assign(table_.spec.rows.begin() + (has_panels_ && !images ? 1 : 0), table_.spec.rows.end());
    data_.epsilons = FindTargets(data_, table_, specs_);
    if (images) return AddSheets();
    FindVarying();
    if (data_.spec.kind != FigureKind::curve) ChooseCategories();
    for (const TableCell& cell : table_.cells) AddCell(cell);
    if (data_.spec.kind == FigureKind::curve) RETORT_RETURN_IF_ERROR(AddCurves());
    for (FigurePanel& panel : data_.panels)
      for (FigureSeries& series : panel.series)
        std::stable_sort(series.points.begin(), series.points.end(),
                         [](const FigurePoint& a, const FigurePoint& b) { return a.x < b.x; });
    ChooseStyles();
    return {};
  }

 private:
  void ChooseCategories() {
    std::vector<std::string> values;
    for (const TrialSpec& trial : sources_.plan.trials) {
      if (trial.role == Role::teacher) continue;
      const std::string value = FormatTableValue(trial, data_.spec.x);
      if (!value.empty() && !Holds(values, value)) values.push_back(value);
    }
    for (const TableCell& cell : table_.cells)
      if (!cell.column.front().empty() && !Position(values, cell.column.front())) values.push_back(cell.column.front());
    const bool numbers = AllNumbers(values);
    if (numbers && data_.spec.kind == FigureKind::line) return;
    if (numbers)
      std::sort(values.begin(), values.end(), [](const std::string& a, const std::string& b) {
        return ParseFiniteNumber(a).value_or(0) < ParseFiniteNumber(b).value_or(0);
      });
    data_.categories = std::move(values);
  }

  // Equal as text, or as numbers.
  static std::optional<std::size_t> Position(const std::vector<std::string>& values, const std::string& value) {
    const std::optional<double> number = ParseFiniteNumber(value);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values[i] == value || (number && ParseFiniteNumber(values[i]) == number)) return i;
    return std::nullopt;
  }

  FigureSeries& FindSeries(const TableCell& cell) {
    const std::string panel = has_panels_ ? cell.row.front() : "";
    const std::vector<std::string> values(cell.row.begin() + (has_panels_ ? 1 : 0), cell.row.end());
    auto found = std::find_if(data_.panels.begin(), data_.panels.end(),
                              [&panel](const FigurePanel& known) { return known.value == panel; });
    if (found == data_.panels.end()) {
      found = data_.panels.insert(data_.panels.end(), {panel, "", {}});
      if (has_panels_) found->title = DescribeValue(data_, data_.spec.panels, panel, FindSpec(cell));
    }
    for (FigureSeries& series : found->series)
      if (series.values == values && series.flat == Flat(cell)) return series;
    FigureSeries series;
    series.values = values;
    series.flat = Flat(cell);
    series.label = MakeLabel(cell, values);
    found->series.push_back(std::move(series));
    return found->series.back();
  }

  // A method that was not run here has the name that its paper gives it.
  [[nodiscard]] std::string MakeLabel(const TableCell& cell, const std::vector<std::string>& values) const {
    std::string label = FormatSeriesLabel(data_, varying_, values, FindSpec(cell));
    if (cell.state == CellState::quoted) label += (label.empty() ? "" : " ") + std::string("(published)");
    return label;
  }

  // Which keys tell the series of this figure apart.
  void FindVarying() {
    varying_.assign(data_.keys.size(), false);
    const std::size_t first = has_panels_ ? 1 : 0;
    for (const TableCell& cell : table_.cells)
      for (std::size_t i = 0; i < varying_.size(); ++i)
        if (cell.row[first + i] != table_.cells.front().row[first + i]) varying_[i] = true;
  }

  [[nodiscard]] bool Flat(const TableCell& cell) const {
    return data_.spec.kind != FigureKind::curve && cell.column.front().empty();
  }
  [[nodiscard]] const TrialSpec* FindSpec(const TableCell& cell) const {
    return cell.trials.empty() ? nullptr : specs_.at(cell.trials.front());
  }

  void AddCell(const TableCell& cell) {
    FigureSeries& series = FindSeries(cell);
    series.planned += cell.planned;
    series.failed += cell.failed;
    series.trials.insert(series.trials.end(), cell.trials.begin(), cell.trials.end());
    if (data_.spec.kind == FigureKind::curve) return;
    FigurePoint point;
    point.at = cell.column.front();
    if (!data_.categories.empty() && !point.at.empty())
      point.x = static_cast<double>(Position(data_.categories, point.at).value_or(0));
    else
      point.x = ParseFiniteNumber(point.at).value_or(0);
    point.summary = cell.summary;
    point.planned = cell.planned;
    point.failed = cell.failed;
    point.state = cell.state;
    point.published = cell.published;
    point.claims = cell.claims;
    point.trials = cell.trials;
    point.singles = ListSingles(cell);
    series.measured += cell.summary.n;
    data_.empty = data_.empty && cell.summary.n == 0 && !cell.published;
    if (cell.state != CellState::quoted) ++data_.all;
    if (cell.state == CellState::missing) ++data_.missing;
    series.points.push_back(std::move(point));
  }

  [[nodiscard]] std::vector<double> ListSingles(const TableCell& cell) const {
    std::vector<double> values;
    for (const TrialId trial : cell.trials) {
      const auto view = views_.find(trial);
      if (view == views_.end() || !view->second->row || view->second->state != TrialState::succeeded) continue;
      for (const auto& [name, value] : view->second->row->metrics)
        if (name == data_.spec.y) values.push_back(value);
    }
    return values;
  }

  Status AddSheets() {
    RETORT_RETURN_IF_ERROR(AddImages(data_, table_, sources_, specs_, views_));
    return data_.spec.kind == FigureKind::map ? AddMaps(data_, sources_, specs_) : Status();
  }

  Status AddCurves() {
    CurveReader reader(data_.spec, sources_, views_);
    for (FigurePanel& panel : data_.panels) {
      for (FigureSeries& series : panel.series) {
        RETORT_RETURN_IF_ERROR(reader.Fill(series));
        ++data_.all;
        if (series.measured == 0) ++data_.missing;
        data_.empty = data_.empty && series.measured == 0;
      }
    }
    return data_.empty ? reader.UnknownCurve() : Status();
  }

  // One style for each label, the same in every panel.
  void ChooseStyles() {
    std::vector<std::string> labels;
    for (FigurePanel& panel : data_.panels) {
      for (FigureSeries& series : panel.series) {
        auto found = std::find(labels.begin(), labels.end(), series.label);
        if (found == labels.end()) found = labels.insert(labels.end(), series.label);
        series.style = static_cast<std::size_t>(found - labels.begin());
      }
    }
  }

  FigureData& data_;
  const ResultTable& table_;
  const FigureSources& sources_;
  const bool has_panels_;
  std::vector<bool> varying_;  // as data_.keys
  SpecIndex specs_;
  ViewIndex views_;
};

}  // namespace

FigureSpec MakeDefaultFigure(const SweepPlan& plan) {
  FigureSpec figure;
  figure.name = plan.name;
  if (!plan.tables.empty()) {
    figure.y = plan.tables.front().metric;
    figure.published = plan.tables.front().published;
  }
  figure.x = FirstAxis(plan, figure, true);
  if (!figure.x.empty()) {
    figure.log_x = SpansDecades(plan, figure.x);
    return figure;
  }
  figure.kind = FigureKind::bar;
  figure.x = FirstAxis(plan, figure, false);
  if (figure.x.empty()) figure.x = "method";
  return figure;
}

Result<FigureData> BuildFigure(const FigureSpec& spec, const FigureSources& sources) {
  FigureData data;
  data.spec = spec;
  RETORT_ASSIGN_OR_RETURN(data.spec.x, ChosenX(sources.plan, spec));
  data.sweep = sources.plan.name;
  data.file = sources.plan.file;
  data.smoke = sources.smoke;
  const ResultTable table = BuildTable(sources.plan, TableFor(data.spec), sources.view, sources.published);
  if (spec.teachers) data.teachers = table.teachers;
  data.warnings = table.warnings;
  data.spec_hash = table.spec_hash;
  data.running = table.running;
  RETORT_RETURN_IF_ERROR(FigureBuilder(data, table, sources).Run());
  return data;
}

}  // namespace retort::orchestrator
