#include "orchestrator/cli/cost_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace retort::orchestrator::cli {
namespace {

double WorkOf(const TrialSpec& spec) {
  const bool by_epoch = spec.role == Role::teacher && spec.method != "dpsgd";
  const double length = static_cast<double>(by_epoch ? spec.epochs : spec.steps);
  return length * static_cast<double>(std::max<std::int64_t>(spec.members, 1));
}

std::optional<double> SecondsOf(const TrialView& trial) {
  if (!trial.row || trial.state != TrialState::succeeded) return std::nullopt;
  for (const auto& [name, value] : trial.row->timings)
    if (name == "seconds") return value;
  return std::nullopt;
}

}  // namespace

std::string KindOfWork(const TrialSpec& spec) {
  return fmt::format("{}/{}/{}/{}/{}/{}/{}/{}/{}/{}/{}", static_cast<int>(spec.role), spec.method,
                     static_cast<int>(spec.reading), spec.teacher, spec.network,
                     spec.data ? spec.data->digest : "", spec.batch, spec.threads, spec.devices,
                     static_cast<int>(spec.source), spec.student_steps);
}

CostModel::CostModel(const ResultsView& view) {
  for (const TrialView& trial : view.trials) {
    const std::optional<double> seconds = SecondsOf(trial);
    if (seconds && WorkOf(trial.spec) > 0)
      rates_[KindOfWork(trial.spec)].push_back(*seconds / WorkOf(trial.spec));
  }
}

std::optional<CostEstimate> CostModel::For(const TrialSpec& spec) const {
  if (spec.method == "sleep") return CostEstimate{spec.seconds, spec.seconds, spec.seconds, 1};
  const auto found = rates_.find(KindOfWork(spec));
  if (found == rates_.end()) return std::nullopt;
  const std::vector<double>& rates = found->second;
  const auto [low, high] = std::minmax_element(rates.begin(), rates.end());
  const double mean = std::accumulate(rates.begin(), rates.end(), 0.0) / static_cast<double>(rates.size());
  const double work = WorkOf(spec);
  return CostEstimate{mean * work, *low * work, *high * work, static_cast<int>(rates.size())};
}

std::optional<CostEstimate> CostModel::Sum(const std::vector<const TrialSpec*>& specs) const {
  CostEstimate sum;
  for (const TrialSpec* spec : specs) {
    const std::optional<CostEstimate> one = For(*spec);
    if (!one) return std::nullopt;
    sum.seconds += one->seconds;
    sum.low += one->low;
    sum.high += one->high;
    sum.measured = sum.measured == 0 ? one->measured : std::min(sum.measured, one->measured);
  }
  return sum;
}

}  // namespace retort::orchestrator::cli
