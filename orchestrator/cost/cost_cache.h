// What trials have cost on this kind of machine: as text, and as a file in the user's cache folder that is kept across
// sweeps.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"
#include "orchestrator/cost/cost_model.h"
#include "storage/files/env.h"

namespace retort::orchestrator {

using MachineCosts = std::map<std::string, CostModel>;  // by FindMachineKind (environment.h)

// One JSON document.
[[nodiscard]] std::string EncodeCosts(const MachineCosts& costs);
// Error: damage, for what EncodeCosts of this version did not write.
[[nodiscard]] Result<MachineCosts> DecodeCosts(std::string_view text);

// The file of measured costs in the user's cache folder.
struct CostCache {
  std::string path;     // of the file; empty = there is no cache folder, and nothing is kept
  std::string machine;  // FindMachineKind of this host
  CostModel costs;      // measured on such machines
  std::string warning;  // why an existing file is left out; empty when it was read or is not there
};

// Reads the cache of the user. `environment`: as this process was started with.
[[nodiscard]] CostCache OpenCostCache(storage::Env& env, const std::vector<std::string>& environment);
// Adds `costs` to what the file holds by now, in place by rename. A cache that another process is writing is
// left to it. Error: environment; what was there is unharmed.
[[nodiscard]] Status SaveCosts(storage::Env& env, const CostCache& cache, const CostModel& costs);

}  // namespace retort::orchestrator
