#include "orchestrator/cli/plan_report.h"

#include <algorithm>
#include <unordered_map>

#include "orchestrator/cli/load_sweep.h"

namespace retort::orchestrator::cli {
namespace {

std::string ReasonFor(const TrialView& stored) {
  switch (stored.state) {
    case TrialState::succeeded:
      return "done";
    case TrialState::failed:
      return "failed: " + std::string(FailureName(stored.failure));
    case TrialState::parent_failed:
      return "its teacher failed";
    case TrialState::cancelled:
      return "cancelled";
    case TrialState::waiting:
      return "waits for its teacher";
    case TrialState::queued:
      return stored.attempts > 0 ? "to be resumed" : "queued";
    case TrialState::leased:
    case TrialState::running:
      return "running";
  }
  return "";
}

// Nothing when a kind among `specs` has left no file yet.
std::optional<std::uint64_t> DiskNeeded(const std::vector<const TrialSpec*>& specs, const ResultsView& view,
                                        const FileSize& file_size) {
  if (!file_size) return std::nullopt;
  std::map<std::string, std::uint64_t> bytes;
  for (const TrialView& trial : view.trials) {
    if (!trial.row || trial.row->attempt_file.empty()) continue;
    std::uint64_t& largest = bytes[KindOfWork(trial.spec)];
    largest = std::max(largest, file_size(trial.row->attempt_file).value_or(0));
  }
  std::uint64_t sum = 0;
  for (const TrialSpec* spec : specs) {
    const auto known = bytes.find(KindOfWork(*spec));
    if (known == bytes.end() || known->second == 0) return std::nullopt;
    sum += known->second;
  }
  return sum;
}

}  // namespace

std::string ReasonOf(const PlannedTrial& trial) {
  return trial.stored == nullptr ? "not in the results folder" : ReasonFor(*trial.stored);
}

std::optional<CostEstimate> EstimateOf(const PlanReport& report, const PlannedTrial& trial) {
  return report.costs ? report.costs->For(*trial.spec) : std::nullopt;
}

PlanReport ReportPlan(const SweepPlan& plan, const std::string& results, const ResultsView* view,
                      std::size_t claimed, const FileSize& file_size) {
  PlanReport report;
  report.plan = &plan;
  report.results = results;
  report.has_results = view != nullptr;
  std::unordered_map<TrialId, const TrialView*> stored;  // and not met in the plan yet
  if (view != nullptr)
    for (const TrialView& trial : view->trials) stored.emplace(trial.spec.id, &trial);
  std::vector<const TrialSpec*> to_run;
  report.trials.reserve(plan.trials.size());
  for (const TrialSpec& spec : plan.trials) {
    const auto found = stored.find(spec.id);
    const TrialView* known = found == stored.end() ? nullptr : found->second;
    report.trials.push_back({&spec, known, known == nullptr || !IsFinal(known->state)});
    if (report.trials.back().runs) to_run.push_back(&spec);
    if (known != nullptr) stored.erase(found);
  }
  if (view != nullptr) {
    for (const TrialView& trial : view->trials)
      if (stored.contains(trial.spec.id)) report.dropped.push_back(&trial);
    report.costs.emplace(*view);
    report.total = report.costs->Sum(to_run);
    report.disk_bytes = DiskNeeded(to_run, *view, file_size);
  }
  report.claimed = std::min(claimed, plan.trials.size());
  report.claims = PlannedClaims(plan.trials, report.claimed);
  return report;
}

}  // namespace retort::orchestrator::cli
