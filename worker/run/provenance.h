// What a result was made with.
#pragma once

#include <string>
#include <vector>

#include "experiments/methods/trial_spec.h"
#include "worker/methods/method.h"
#include "worker/tensors/step_graphs.h"

namespace retort::worker {

// Returns one JSON object: build, torch, cpu capability, host, device, kinds of device that it was
// trained on (TrainedOn), threads, precision of networks there, timings, and where steps were recorded how often each
// region ran by what, and why not by a graph.
[[nodiscard]] std::string FormatProvenanceJson(const std::string& build, const TrialSpec& spec,
                                               const std::string& device, const std::string& trained_on,
                                               const Series& timings, const std::vector<RegionUse>& regions = {});

}  // namespace retort::worker
