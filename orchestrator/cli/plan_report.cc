#include "orchestrator/cli/plan_report.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "orchestrator/cli/load_sweep.h"

namespace retort::orchestrator::cli {
namespace {

std::string ReasonFor(const TrialView& stored) {
  switch (stored.state) {
    case TrialState::succeeded: return "done";
    case TrialState::failed: return "failed: " + std::string(FailureName(stored.failure));
    case TrialState::parent_failed: return "its teacher failed";
    case TrialState::cancelled: return "cancelled";
    case TrialState::waiting: return "waits for its teacher";
    case TrialState::queued: return stored.attempts > 0 ? "to be resumed" : "queued";
    case TrialState::leased:
    case TrialState::running: return "running";
  }
  return "";
}

PlannedTrial PlannedFrom(const TrialSpec& spec, const TrialView* stored) {
  PlannedTrial planned;
  planned.spec = &spec;
  planned.stored = stored;
  planned.runs = stored == nullptr || !IsFinal(stored->state);
  planned.reason = stored == nullptr ? "not in the results folder" : ReasonFor(*stored);
  return planned;
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

PlanReport ReportPlan(const SweepPlan& plan, const std::string& results, const ResultsView* view, std::size_t claimed,
                      const FileSize& file_size) {
  PlanReport report;
  report.plan = &plan;
  report.results = results;
  report.has_results = view != nullptr;
  std::unordered_map<TrialId, const TrialView*> stored;
  if (view != nullptr)
    for (const TrialView& trial : view->trials) stored.emplace(trial.spec.id, &trial);
  std::unordered_set<TrialId> planned;
  std::vector<const TrialSpec*> to_run;
  for (const TrialSpec& spec : plan.trials) {
    const auto found = stored.find(spec.id);
    report.trials.push_back(PlannedFrom(spec, found == stored.end() ? nullptr : found->second));
    if (report.trials.back().runs) to_run.push_back(&spec);
    planned.insert(spec.id);
  }
  if (view != nullptr) {
    for (const TrialView& trial : view->trials)
      if (!planned.contains(trial.spec.id)) report.dropped.push_back(&trial);
    const CostModel costs(*view);
    for (PlannedTrial& trial : report.trials) trial.estimate = costs.For(*trial.spec);
    report.total = costs.Sum(to_run);
    report.disk_bytes = DiskNeeded(to_run, *view, file_size);
  }
  report.claimed = std::min(claimed, plan.trials.size());
  report.claims = PlannedClaims(plan.trials, report.claimed);
  return report;
}

}  // namespace retort::orchestrator::cli
