// `retort export … --format torchscript`.
#pragma once

#include <string>

#include "experiments/base/status.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/results/results_view.h"

namespace retort::orchestrator::cli {

// Return the whole archive of TorchScript: of the network that a trial trained, or of its generator. The worker program
// writes it into a folder beside --out, which is removed. REQUIRES: a row with a file that can be read. Error: that of
// the worker; environment, where no folder can be made beside --out.
[[nodiscard]] Result<std::string> EncodeTorchScriptNetwork(const Invocation& call, const ResultsView& view,
                                                           const TrialView& trial);
[[nodiscard]] Result<std::string> EncodeTorchScriptGenerator(const Invocation& call, const ResultsView& view,
                                                             const TrialView& trial);

}  // namespace retort::orchestrator::cli
