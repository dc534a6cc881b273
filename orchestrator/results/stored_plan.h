// Rebuilds the plan of a sweep from its results folder, where neither the sweep file nor its data are at hand.
#pragma once

#include <string>

#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/results/results_view.h"

namespace retort::orchestrator {

struct StoredPlan {
  SweepPlan plan;
  std::string trouble;  // a sentence: why tables and figures are those of a sweep that declares none; else empty
};

// The trials are the view's, the tables and figures those of `sweep_toml`, the folder's sweep.toml. No data
// set and no weights are looked at. A sweep that a profile named "smoke" has renamed to NAME-smoke has that
// profile.
[[nodiscard]] StoredPlan RebuildPlan(const ResultsView& view, const std::string& sweep_toml);

// Of a sweep that selects, the trials that its results folder shows in place of its candidates: the released one, or
// the one that stands for the selection until then. Every other plan as it is.
[[nodiscard]] SweepPlan AdoptReleased(SweepPlan plan, const ResultsView& view);

}  // namespace retort::orchestrator
