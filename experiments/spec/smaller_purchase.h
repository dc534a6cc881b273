// Warns where a larger budget buys less.
#pragma once

#include <vector>

#include "experiments/spec/complaints.h"
#include "experiments/spec/trial_spec.h"

namespace retort {

// Of students that calibrate = "steps" solved: a rule of a paper may let the norm bound grow with epsilon faster than
// the budget does. One warning a pair of epsilons, at `where`.
void WarnOfSmallerPurchases(const std::vector<TrialSpec>& students, Position where, Complaints& complaints);

}  // namespace retort
