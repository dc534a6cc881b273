// What a result was made with.
#pragma once

#include <string>

#include "experiments/methods/trial_spec.h"
#include "worker/methods/method.h"

namespace retort::worker {

// Returns one JSON object: build, torch, cpu capability, host, device, kinds of device that it was
// trained on (TrainedOn), threads, precision of networks there, timings.
[[nodiscard]] std::string ProvenanceJson(const std::string& build, const TrialSpec& spec, const std::string& device,
                                         const std::string& trained_on, const Series& timings);

}  // namespace retort::worker
