// What a result was made with; kept apart from what it is.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "experiments/spec/trial_spec.h"

namespace retort::worker {

// One JSON object: build, torch, cpu capability, host, device, kinds of device that it was trained on (TrainedOn),
// threads, timings.
[[nodiscard]] std::string ProvenanceJson(const std::string& build, const TrialSpec& spec, const std::string& device,
                                         const std::string& trained_on,
                                         const std::vector<std::pair<std::string, double>>& timings);

}  // namespace retort::worker
