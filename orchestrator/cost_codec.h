// Measured costs as text, by kind of machine. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "experiments/spec/status.h"
#include "orchestrator/cost_model.h"

namespace retort::orchestrator {

using MachineCosts = std::map<std::string, CostModel>;  // by MachineKind (environment.h)

// One JSON document.
[[nodiscard]] std::string EncodeCosts(const MachineCosts& costs);
// Error: damage, for what EncodeCosts of this version did not write.
[[nodiscard]] Result<MachineCosts> DecodeCosts(std::string_view text);

}  // namespace retort::orchestrator
