// How sure a network is of a label: the score of attacks on single examples.
#pragma once

#include <vector>

#include "worker/data/dataset.h"
#include "worker/models/network.h"

namespace retort::worker::audit {

// log(p / (1 - p)) of each example's own label, from the logits in double precision, in evaluation mode.
// Larger for smaller losses. An answer that is not finite scores as the least.
[[nodiscard]] std::vector<double> ConfidenceScores(const Network& network, const Examples& examples);

}  // namespace retort::worker::audit
