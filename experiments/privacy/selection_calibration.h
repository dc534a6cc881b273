// Solving for what one candidate of a selection may cost.
#pragma once

#include <span>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "experiments/privacy/accountants/selection_draws.h"
#include "experiments/privacy/calibration.h"

namespace retort::privacy {

struct SelectionAim {
  DrawLaw law;
  double epsilon = 0;      // of the selection as a whole
  double score_noise = 0;  // of a private score: standard deviation, in examples; 0 = the score is a public one
};

// Returns the largest epsilon, in whole thousandths, to which each of `candidates` may be calibrated so that the claim
// of their selection is at most aim.epsilon: that of labels, or for examples that are added or removed, under which
// candidates are calibrated. It leaves room for as many lost runs as the candidate with the most `retries` does.
// `candidates` have privacy.claim and privacy.calibrate; their privacy.epsilon is not looked at. `calibrator` keeps
// what it solved. REQUIRES: aim.epsilon > 0. Error: usage, why none leaves a bound that small; as PlanSelection.
[[nodiscard]] Result<double> SolveCandidateEpsilon(const SelectionAim& aim, std::span<const TrialSpec> candidates,
                                                   Calibrator& calibrator);

}  // namespace retort::privacy
