// What an exported network says of itself.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "experiments/privacy/claim.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/results/results_view.h"
#include "storage/formats/tensor_blob.h"

namespace retort::orchestrator::cli {

// Whose names begin with `prefix`, under the names that follow it.
[[nodiscard]] std::vector<storage::TensorBlob> SelectState(const std::vector<storage::TensorBlob>& parameters,
                                                           const std::string& prefix);

// Puts a question of cluster/worker_questions.h about the network that a trial trains to the worker program, and
// returns its answer. Error: environment where that cannot be started; else its own.
[[nodiscard]] Result<std::string> AskAboutNetwork(const Invocation& call, const TrialSpec& spec, const char* argument);
// The same with an order other than the spec alone.
[[nodiscard]] Result<std::string> AskAboutNetwork(const Invocation& call, const TrialSpec& spec, const char* argument,
                                                  const std::string& order);

// What an exported file says of the trial whatever network is in it: image, classes, how pixels were normalised, whose
// it is, and `claims`.
[[nodiscard]] nlohmann::ordered_json DescribeTrial(const TrialSpec& spec, const std::vector<privacy::Claim>& claims);

// The same of what is in a file of its generator, whose claims are those that hold for images (image_claims.h).
[[nodiscard]] nlohmann::ordered_json DescribeGenerator(const TrialView& trial);

// What a program needs in order to build the network: version (of these fields), network, layers, image, classes, how
// pixels were normalised, whose it is, and what its row claims. Error: that of the worker, which alone knows the
// layers.
[[nodiscard]] Result<std::string> DescribeNetwork(const Invocation& call, const TrialView& trial);

}  // namespace retort::orchestrator::cli
