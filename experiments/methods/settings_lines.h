// What tables and the headers of shipped sweeps say of the settings that differ from the papers', and of those that the
// papers leave open.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "experiments/methods/trial_spec.h"

namespace retort {

// One line for each method and reading among the students, in their order:
//   working dpdfd differs from its text (in brackets): dkd_beta 1 (8), by citation of DKD; ...
//   stated dpdfd is as its text. Not in it: batch 256, sigma 100 (B and σ are not printed: DPSD's); ...
// Teachers among the trials are what their students are described with.
[[nodiscard]] std::vector<std::string> DescribeSettings(std::span<const TrialSpec* const> trials);

}  // namespace retort
