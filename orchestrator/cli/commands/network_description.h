// What an exported network says of itself.
#pragma once

#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "orchestrator/cli/commands/commands.h"
#include "storage/formats/tensor_blob.h"

namespace retort::orchestrator::cli {

// Whose names begin with `prefix`, under the names that follow it.
[[nodiscard]] std::vector<storage::TensorBlob> SelectState(const std::vector<storage::TensorBlob>& parameters,
                                                           const std::string& prefix);

// What a program needs in order to build the network: version (of these fields), network, layers, image, classes, how
// pixels were normalised, and whose it is. Error: that of the worker, which alone knows the layers.
[[nodiscard]] Result<std::string> DescribeNetwork(const Invocation& call, const TrialSpec& spec);

}  // namespace retort::orchestrator::cli
