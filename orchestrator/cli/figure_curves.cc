#include "orchestrator/cli/figure_curves.h"

#include <cmath>
#include <map>
#include <utility>

#include "experiments/spec/diagnostic.h"
#include "orchestrator/cli/worst_claims.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::size_t kMostPoints = 400;

using Curve = std::vector<std::pair<std::int64_t, double>>;

// What the seeds recorded at one step.
struct AtStep {
  std::vector<double> x, y;
};

double MeanOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::vector<FigurePoint> PointsOf(const std::map<std::int64_t, AtStep>& steps, int planned) {
  const std::size_t stride = steps.size() / kMostPoints + 1;
  std::vector<FigurePoint> points;
  std::size_t index = 0;
  for (const auto& [step, values] : steps) {
    const bool last = index + 1 == steps.size();
    if (index++ % stride != 0 && !last) continue;
    FigurePoint point;
    point.at = std::to_string(step);
    point.x = MeanOf(values.x);
    point.summary = Summarize(values.y);
    point.planned = planned;
    point.state = point.summary.n == planned ? CellState::complete : CellState::partial;
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace

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
  series.points = PointsOf(steps, series.planned);
  series.claims = WorstClaims(claims);
  return {};
}

Status CurveReader::UnknownCurve() const {
  if (recorded_.empty()) return {};
  const bool known_y = recorded_.contains(spec_.y);
  if (known_y && (spec_.x == "step" || recorded_.contains(spec_.x))) return {};
  const std::string& wanted = known_y ? spec_.x : spec_.y;
  const std::vector<std::string> names(recorded_.begin(), recorded_.end());
  const std::vector<std::string> near = NearestOf(wanted, names);
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return UsageError("figure." + spec_.name + (known_y ? ".x" : ".y") + ": no trial recorded a curve \"" + wanted + "\"" +
                    (near.empty() ? "" : "; did you mean \"" + near.front() + "\"?") + " There are " + list + ".");
}

}  // namespace retort::orchestrator::cli
