// What trials have cost on this kind of machine, in the user's cache folder: kept across sweeps.
#pragma once

#include <string>
#include <vector>

#include "experiments/spec/status.h"
#include "orchestrator/cost_model.h"
#include "storage/env.h"

namespace retort::orchestrator {

struct CostCache {
  std::string path;     // of the file; empty = there is no cache folder, and nothing is kept
  std::string machine;  // MachineKind of this host
  CostModel costs;      // measured on such machines
  std::string warning;  // why an existing file is left out; empty when it was read or is not there
};

// Of the environment that this process was started with.
[[nodiscard]] CostCache OpenCostCache(storage::Env& env, const std::vector<std::string>& environment);
// Adds `costs` to what the file holds by now, in place by rename. A cache that another process is writing is
// left to it. Error: environment; what was there is unharmed.
[[nodiscard]] Status SaveCosts(storage::Env& env, const CostCache& cache, const CostModel& costs);

}  // namespace retort::orchestrator
