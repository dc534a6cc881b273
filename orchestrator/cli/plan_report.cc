#include "orchestrator/cli/plan_report.h"

#include <unordered_map>
#include <utility>

#include "orchestrator/cli/planned_claims.h"
#include "orchestrator/time_fit.h"

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

double DoneOf(const TrialView* stored) {
  return stored == nullptr ? 0 : FractionDone(stored->step, stored->total_steps);
}

}  // namespace

std::string ReasonOf(const PlannedTrial& trial) {
  return trial.stored == nullptr ? "not in the results folder" : ReasonFor(*trial.stored);
}

std::optional<CostEstimate> EstimateOf(const PlanReport& report, const PlannedTrial& trial) {
  return report.costs.For(*trial.spec, trial.teacher);
}

PlanReport ReportPlan(const SweepPlan& plan, const std::string& results, const ResultsView* view, CostModel costs,
                      int slots) {
  PlanReport report;
  report.plan = &plan;
  report.results = results;
  report.has_results = view != nullptr;
  std::unordered_map<TrialId, const TrialView*> stored;  // and not met in the plan yet
  if (view != nullptr)
    for (const TrialView& trial : view->trials) {
      stored.emplace(trial.spec.id, &trial);
      if (std::string reason = AuditVoidOf(trial); !reason.empty())
        report.voids.emplace(trial.spec.id, std::move(reason));
    }
  report.costs = std::move(costs);
  report.slots = slots;
  const TeacherSpecs teachers(plan.trials);
  std::vector<PendingTrial> to_run;
  to_run.reserve(plan.trials.size());
  report.trials.reserve(plan.trials.size());
  for (const TrialSpec& spec : plan.trials) {
    const auto found = stored.find(spec.id);
    const TrialView* known = found == stored.end() ? nullptr : found->second;
    PlannedTrial trial{&spec, known, known == nullptr || !IsFinal(known->state), teachers.Of(spec)};
    if (trial.runs) to_run.push_back({&spec, trial.teacher, DoneOf(known), false});
    report.trials.push_back(trial);
    if (known != nullptr) stored.erase(found);
  }
  if (view != nullptr) {
    for (const TrialView& trial : view->trials)
      if (stored.contains(trial.spec.id)) report.dropped.push_back(&trial);
  }
  report.total = EstimateSweep(report.costs, to_run, slots, static_cast<int>(plan.quota.concurrency));
  if (!report.total) report.unknown = CountUnknown(report.costs, to_run);
  return report;
}

}  // namespace retort::orchestrator::cli
