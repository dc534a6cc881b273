// What holds for every one of several trials.
#pragma once

#include <vector>

#include "experiments/privacy/claim.h"

namespace retort::orchestrator::cli {

// In the order of first appearance. Guarantees (proven or unbounded), for each (adjacency, neighbour, delta):
// the largest epsilon of each accountant that proves one in every trial; where no accountant does, the
// largest of the trials' best ones; unbounded where some trial has none. Formulas and audited bounds: the
// largest of those that are there.
[[nodiscard]] std::vector<privacy::Claim> WorstClaims(const std::vector<std::vector<privacy::Claim>>& trials);

}  // namespace retort::orchestrator::cli
