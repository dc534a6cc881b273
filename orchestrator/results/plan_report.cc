#include "orchestrator/results/plan_report.h"

#include <unordered_map>
#include <utility>

#include "experiments/privacy/claims.h"
#include "experiments/privacy/planned_events.h"
#include "orchestrator/reactor/admission.h"

namespace retort::orchestrator {

TeacherSpecs::TeacherSpecs(std::span<const TrialSpec> trials) {
  for (const TrialSpec& spec : trials)
    if (spec.role == Role::teacher) teachers_.emplace(spec.id, &spec);
}

const TrialSpec* TeacherSpecs::Of(const TrialSpec& student) const {
  const auto found = student.parent ? teachers_.find(*student.parent) : teachers_.end();
  return found == teachers_.end() ? nullptr : found->second;
}

const std::vector<privacy::Claim>& PlannedClaims::Of(const TrialSpec& spec, const TrialSpec* teacher) {
  if (remembered() >= kMaxRemembered) accountant_.reset();
  if (!accountant_) accountant_.emplace();
  std::vector<privacy::Claim> of_teacher;
  if (teacher != nullptr) of_teacher = AsAuditsLeaveThem(*teacher, IfNothingFails(*teacher, {}));
  return AsAuditsLeaveThem(spec, IfNothingFails(spec, std::move(of_teacher)));
}

const std::vector<privacy::Claim>& PlannedClaims::AsAuditsLeaveThem(const TrialSpec& spec,
                                                                    const std::vector<privacy::Claim>& claims) {
  const auto found = voids_.find(spec.id);
  if (found == voids_.end()) return claims;
  withdrawn_ = claims;
  for (privacy::Claim& claim : withdrawn_)
    if (claim.status == privacy::ClaimStatus::proven) claim = privacy::WithdrawClaim(std::move(claim), found->second);
  return withdrawn_;
}

const std::vector<privacy::Claim>& PlannedClaims::IfNothingFails(const TrialSpec& spec,
                                                                 std::vector<privacy::Claim> teacher_claims) {
  const Result<std::vector<privacy::PrivacyEvent>> events = privacy::PlanEvents(spec);
  if (events.ok()) return accountant_->ComputeClaims({&spec, std::move(teacher_claims)}, *events);
  privacy::Claim unknown;
  unknown.delta = spec.privacy.delta;
  unknown.reason = events.status().message();
  return unknown_ = {std::move(unknown)};
}

namespace {

std::string ReasonFor(const TrialView& stored) {
  switch (stored.state) {
    case TrialState::succeeded:
      return "done";
    case TrialState::failed:
      return "failed: " + std::string(GetFailureName(stored.failure));
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

double ComputeDone(const TrialView* stored) {
  return stored == nullptr ? 0 : ComputeFractionDone(stored->step, stored->total_steps);
}

}  // namespace

std::string FindReason(const PlannedTrial& trial) {
  return trial.stored == nullptr ? "not in the results folder" : ReasonFor(*trial.stored);
}

std::optional<CostEstimate> EstimateTrial(const PlanReport& report, const PlannedTrial& trial) {
  return report.costs.For(*trial.spec, trial.teacher);
}

AuditCost EstimateAudit(const PlanReport& report, std::int64_t shadows) {
  std::vector<ShadowedTrial> trials;
  trials.reserve(report.trials.size());
  for (const PlannedTrial& trial : report.trials) trials.push_back({trial.spec, trial.teacher});
  return EstimateShadows(report.costs, trials, shadows);
}

PlanReport MakePlanReport(const SweepPlan& plan, const std::string& results, const ResultsView* view, CostModel costs,
                          int slots) {
  PlanReport report;
  report.plan = &plan;
  report.results = results;
  report.has_results = view != nullptr;
  std::unordered_map<TrialId, const TrialView*> stored;  // and not met in the plan yet
  if (view != nullptr)
    for (const TrialView& trial : view->trials) {
      stored.emplace(trial.spec.id, &trial);
      if (std::string reason = FindAuditVoid(trial); !reason.empty())
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
    if (trial.runs) to_run.push_back({&spec, trial.teacher, ComputeDone(known), false});
    report.trials.push_back(trial);
    if (known != nullptr) stored.erase(found);
  }
  if (view != nullptr) {
    for (const TrialView& trial : view->trials)
      if (stored.contains(trial.spec.id)) report.dropped.push_back(&trial);
  }
  if (plan.search) {
    const ResultsView nothing;
    report.search = FindStanding(plan, view == nullptr ? nothing : *view);
  }
  if (plan.select)
    if (Result<PlannedSelection> selection = PlanSelectionClaims(plan); selection.ok())
      report.selection = *std::move(selection);
  report.total = EstimateSweep(report.costs, to_run, slots, static_cast<int>(plan.quota.concurrency));
  if (!report.total) report.unknown = CountUnknown(report.costs, to_run);
  return report;
}

}  // namespace retort::orchestrator
