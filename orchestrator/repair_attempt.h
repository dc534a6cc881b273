// Repair of one attempt's folder.
#pragma once

#include <set>
#include <string>

#include "experiments/spec/status.h"
#include "orchestrator/repair.h"
#include "storage/env.h"

namespace retort::orchestrator {

// Adds what is wrong in `directory`/`attempt` ("trials/<name>-<id>/attempt-<n>"). `referenced`: the attempt
// files that rows name. `account`: of the attempt's trial; null where it has no row, or the ledger cannot be read.
// Error: environment.
[[nodiscard]] Status PlanAttemptRepair(storage::Env& env, const std::string& directory,
                                       const std::string& attempt, const std::set<std::string>& referenced,
                                       const storage::TrialAccount* account, RepairPlan& plan);

}  // namespace retort::orchestrator
