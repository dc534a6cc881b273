// Explains in sentences why a trial is in the state it is in.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/core/cost_model.h"
#include "orchestrator/results/results_root.h"
#include "orchestrator/results/results_view.h"

namespace retort::orchestrator::cli {

struct Explanation {
  std::vector<std::string> sentences;  // the cause first
  std::string next;                    // what to do; may be empty
};

// Follows teachers: a trial that waits for a failed teacher is explained by the teacher's failure. `costs`:
// for what a running sweep that has to stop soon leaves out. `root`: as in ComputeStatus.
[[nodiscard]] Explanation Explain(const ResultsView& view, const TrialView& trial, double now_unix_seconds,
                                  const CostModel& costs = {}, const RootCharges* root = nullptr);

}  // namespace retort::orchestrator::cli
