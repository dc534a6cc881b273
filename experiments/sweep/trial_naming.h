// The names of trials.
#pragma once

#include <span>

#include "experiments/methods/trial_spec.h"

namespace retort {

// Names `trials` from role, method, reading, teacher, data and seed. Where that leaves names equal, the
// values of the fewest leading axes that tell them apart are put in, and after that the id.
// The names are unique among `trials` and fit for folders.
void NameTrials(std::span<TrialSpec> trials);

}  // namespace retort
