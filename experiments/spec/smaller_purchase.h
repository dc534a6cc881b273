// Warns where a larger budget buys less.
#pragma once

#include <span>

#include "experiments/spec/complaints.h"
#include "experiments/spec/trial_spec.h"

namespace retort {

// Of students that calibrate = "steps" solved: a rule of a paper may let the norm bound grow with epsilon faster than
// the budget does. One warning a pair of epsilons, at `where`.
void WarnOfSmallerPurchases(std::span<const TrialSpec> students, Position where, Complaints& complaints);

}  // namespace retort
