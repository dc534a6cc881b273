// What a sweep would do, compared with what its results folder holds, as a value.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/spec/sweep.h"
#include "orchestrator/cost_model.h"
#include "orchestrator/results_view.h"
#include "orchestrator/sweep_estimate.h"

namespace retort::orchestrator::cli {

struct PlannedTrial {
  const TrialSpec* spec = nullptr;    // owned by the plan
  const TrialView* stored = nullptr;  // owned by the view; null when the folder does not know it
  bool runs = true;                   // something is left to do
  const TrialSpec* teacher = nullptr;  // owned by the plan; null without one
};
// "not in the results folder", "done", "failed: …", ...
[[nodiscard]] std::string ReasonOf(const PlannedTrial& trial);

struct PlanReport {
  const SweepPlan* plan = nullptr;
  std::string results;  // folder
  bool has_results = false;
  std::vector<PlannedTrial> trials;       // in plan order
  std::map<TrialId, std::string> voids;  // AuditVoidOf each stored trial of which audits leave nothing proven
  CostModel costs;                        // measured on machines like this one
  std::vector<const TrialView*> dropped;  // stored, but no longer planned
  std::optional<SweepEstimate> total;     // of the trials that run; nothing when one's cost is unknown
  std::size_t unknown = 0;                // trials that run and whose cost is unknown
  int slots = 1;                          // that `total` is for
};

// Terminals list this many trials; JSON lists all.
inline constexpr std::size_t kListedTrials = 60;

[[nodiscard]] std::optional<CostEstimate> EstimateOf(const PlanReport& report, const PlannedTrial& trial);

// `view` may be null: nothing is stored. `slots`: trials of one device that run at once.
[[nodiscard]] PlanReport ReportPlan(const SweepPlan& plan, const std::string& results,
                                    const ResultsView* view, CostModel costs = {}, int slots = 1);

[[nodiscard]] std::string PlanAsText(const PlanReport& report, std::size_t width);
// Trials that are new, done and dropped, without what is the same in both.
[[nodiscard]] std::string PlanDiffAsText(const PlanReport& report);
// One document, handed over in pieces.
void WritePlanAsJson(const PlanReport& report, const std::function<void(std::string_view)>& out);

}  // namespace retort::orchestrator::cli
