// The plan of a sweep as its results folder holds it, for whoever has neither the sweep file nor its data.
#pragma once

#include <string>

#include "experiments/spec/sweep.h"
#include "orchestrator/results_view.h"

namespace retort::orchestrator::cli {

struct StoredPlan {
  SweepPlan plan;
  std::string
      trouble;  // a sentence: why tables and figures are those of a sweep that declares none; else empty
};

// The trials are the view's, the tables and figures those of `sweep_toml`, the folder's sweep.toml. No data
// set and no weights are looked at. A sweep that a profile named "smoke" has renamed to NAME-smoke has that
// profile.
[[nodiscard]] StoredPlan PlanOfResults(const ResultsView& view, const std::string& sweep_toml);

}  // namespace retort::orchestrator::cli
