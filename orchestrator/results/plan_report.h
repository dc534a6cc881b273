// Compares what a sweep would do with what its results folder holds, and computes what planned trials may claim. Claims
// are computed one trial after the other: a plan may have a hundred thousand trials, whose claims take more memory than
// the plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "experiments/methods/trial_spec.h"
#include "experiments/privacy/claim.h"
#include "experiments/privacy/claims.h"
#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/core/cost_model.h"
#include "orchestrator/results/audit_cost.h"
#include "orchestrator/results/planned_selection.h"
#include "orchestrator/results/results_view.h"
#include "orchestrator/results/search_standing.h"
#include "orchestrator/results/sweep_estimate.h"

namespace retort::orchestrator {

// The teachers of a plan by id. `trials` outlives it, unmoved.
class TeacherSpecs {
 public:
  explicit TeacherSpecs(std::span<const TrialSpec> trials);
  // Null without a teacher.
  [[nodiscard]] const TrialSpec* Of(const TrialSpec& student) const;

 private:
  std::unordered_map<TrialId, const TrialSpec*> teachers_;
};

// Not thread-safe.
class PlannedClaims {
 public:
  // `voids`: why nothing that is proven of a trial holds, after audits; those who rest on it claim what is
  // left.
  explicit PlannedClaims(std::map<TrialId, std::string> voids = {}) : voids_(std::move(voids)) {}

  // `teacher`: the spec of spec.parent; null without one. The reference is good until the next call.
  [[nodiscard]] const std::vector<privacy::Claim>& Of(const TrialSpec& spec, const TrialSpec* teacher);

  // Claims that are held, so that equal trials cost their search alone.
  static constexpr std::size_t kMaxRemembered = 4096;
  [[nodiscard]] std::size_t remembered() const { return accountant_ ? accountant_->computed() : 0; }

 private:
  [[nodiscard]] const std::vector<privacy::Claim>& IfNothingFails(const TrialSpec& spec,
                                                                  std::vector<privacy::Claim> teacher_claims);

  [[nodiscard]] const std::vector<privacy::Claim>& AsAuditsLeaveThem(const TrialSpec& spec,
                                                                     const std::vector<privacy::Claim>& claims);

  std::map<TrialId, std::string> voids_;
  std::optional<privacy::ClaimCache> accountant_;  // begun anew where it has become large
  std::vector<privacy::Claim> unknown_, withdrawn_;
};

// What a sweep would do, compared with what its results folder holds, as a value.

struct PlannedTrial {
  const TrialSpec* spec = nullptr;     // owned by the plan
  const TrialView* stored = nullptr;   // owned by the view; null when the folder does not know it
  bool runs = true;                    // something is left to do
  const TrialSpec* teacher = nullptr;  // owned by the plan; null without one
};
// "not in the results folder", "done", "failed: …", ...
[[nodiscard]] std::string FindReason(const PlannedTrial& trial);

struct PlanReport {
  const SweepPlan* plan = nullptr;
  std::string results;  // folder
  bool has_results = false;
  std::vector<PlannedTrial> trials;           // in plan order
  std::map<TrialId, std::string> voids;       // FindAuditVoid each stored trial of which audits leave nothing proven
  CostModel costs;                            // measured on machines like this one
  std::vector<const TrialView*> dropped;      // stored, but no longer planned
  std::optional<SweepEstimate> total;         // of the trials that run; nothing when one's cost is unknown
  std::size_t unknown = 0;                    // trials that run and whose cost is unknown
  int slots = 1;                              // that `total` is for
  std::optional<AuditCost> audit;             // of all trials, where it was asked for
  std::optional<SearchStanding> search;       // of a sweep that searches
  std::optional<PlannedSelection> selection;  // of a sweep that selects: the trials are its candidates
};

[[nodiscard]] std::optional<CostEstimate> EstimateTrial(const PlanReport& report, const PlannedTrial& trial);

// Of a whole plan, done or not: `retort audit` of its sweep with so many shadows of each trial.
[[nodiscard]] AuditCost EstimateAudit(const PlanReport& report, std::int64_t shadows);

// `view` may be null: nothing is stored. `slots`: trials of one device that run at once.
[[nodiscard]] PlanReport MakePlanReport(const SweepPlan& plan, const std::string& results, const ResultsView* view,
                                        CostModel costs = {}, int slots = 1);

}  // namespace retort::orchestrator
