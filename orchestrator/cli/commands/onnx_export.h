// `retort export … --format onnx`.
#pragma once

#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/results/results_view.h"
#include "storage/formats/tensor_blob.h"

namespace retort::orchestrator::cli {

// Return the whole file of ONNX: of the network that a trial trained, or of its generator. `state`: its tensors,
// without the group's prefix. Errors: that of the worker, which alone knows what layers compute; damage, naming a
// tensor that the state lacks; refused above 2 GiB, with what to use instead.
[[nodiscard]] Result<std::string> EncodeOnnxNetwork(const Invocation& call, const TrialView& trial,
                                                    const std::vector<storage::TensorBlob>& state);
[[nodiscard]] Result<std::string> EncodeOnnxGenerator(const Invocation& call, const TrialView& trial,
                                                      const std::vector<storage::TensorBlob>& state);

}  // namespace retort::orchestrator::cli
