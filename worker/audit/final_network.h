// The network that a trial ended with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "experiments/spec/status.h"
#include "worker/audit/audited_trial.h"
#include "worker/models/network.h"

namespace retort::worker::audit {

// Why there is none that an attacker would see, or no private examples to attack; empty where there is.
[[nodiscard]] std::string NoFinalNetwork(const AuditedTrial& trial);

// The network of `spec` with the parameters that its trial ended with; `data` gives shape, classes and
// device. Error: damage, when the parameters are not the network's.
[[nodiscard]] Result<std::unique_ptr<Network>> NetworkWith(
    const TrialSpec& spec, const Dataset& data, const std::vector<storage::TensorBlob>& parameters);

// Where NoFinalNetwork is empty. Error: damage, when the file does not fit its own spec.
[[nodiscard]] Result<std::unique_ptr<Network>> FinalNetwork(const AuditedTrial& trial);

}  // namespace retort::worker::audit
