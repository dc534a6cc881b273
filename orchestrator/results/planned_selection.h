// What a selecting sweep will claim, before anything runs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/privacy/claim.h"
#include "experiments/sweep/sweep_plan.h"

namespace retort::orchestrator {

struct RdpPoint {
  double order = 0;
  double candidate = 0, selection = 0;  // of the worst candidate, and of the best of K
};

struct PlannedSelection {
  std::string draws;           // K's distribution, for people
  std::size_t costs = 0;       // candidates of unlike cost
  std::optional<double> each;  // what select.epsilon leaves each candidate, which is calibrated to it
  std::vector<privacy::Claim> claims;
  std::vector<double> candidate;              // epsilon of the worst candidate alone, by claim
  std::vector<std::vector<RdpPoint>> curves;  // by claim; empty where it has none
};

// REQUIRES: plan.select. Error: of MakeDrawLaw and PlanSelection; usage, where no claim of the selection is finite
// though no noise is seeded, or the one that select.epsilon is about is above it.
[[nodiscard]] Result<PlannedSelection> PlanSelectionClaims(const SweepPlan& plan);

}  // namespace retort::orchestrator
