// The other sweeps of a results root, the folder that holds this sweep's results folder: what they have
// charged to private data sets counts against budgets, and the budgets that they set bind this one.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "experiments/privacy/privacy_event.h"
#include "experiments/spec/sweep.h"
#include "orchestrator/budget.h"
#include "orchestrator/results_view.h"
#include "storage/env.h"

namespace retort::orchestrator {

using ChargedByData =
    std::map<std::string, std::vector<privacy::PrivacyEvent>>;  // by unpacked digest, equal ones aggregated
using BudgetsByData = std::map<std::string, std::vector<OtherBudget>>;  // by unpacked digest

struct NeighbourSweep {
  std::string directory;
  bool running = false;
  // What costs its data set something, by unpacked digest; void where its trial's claims have no bound.
  ChargedByData charged;
  std::set<std::string> planned;          // unpacked digests of its trials' data sets
  std::map<std::string, Budget> budgets;  // of its own, by unpacked digest
};

// Those that have charged one of `digests` (unpacked), those that set a budget for one, and those that are running with one
// in their plan.
// Error: environment or damage, naming the folder that cannot be read; what it charged is then unknown.
// `known`: beside what each of them knows.
[[nodiscard]] Result<std::vector<NeighbourSweep>> ReadNeighbours(storage::Env& env,
                                                                 const std::string& results,
                                                                 const std::set<std::string>& digests,
                                                                 const UnpackedDigests& known);

// What a results root means for a sweep in it.
struct RootTerms {
  ChargedByData charged;  // beside the sweep's own ledger, of data under a budget
  BudgetsByData budgets;  // that other sweeps set, running or not, for data of the plan
};

// The budgets that other sweeps set for data of `plan`. Error: environment, naming a folder that charged such
// data and whose journal cannot be read.
[[nodiscard]] Result<BudgetsByData> BudgetsElsewhere(storage::Env& env, const std::string& results,
                                                     const SweepPlan& plan);

// What budgets, of `plan` or of other sweeps, must count. A budget covers the root only while nobody else
// draws there: call under the folder's lock. Error: environment, with the remedy, when a neighbour of a
// budgeted data set cannot be read or is running, or when a running neighbour has a budget for a data set of
// this plan; as BudgetsElsewhere.
[[nodiscard]] Result<RootTerms> TermsElsewhere(storage::Env& env, const std::string& results,
                                               const SweepPlan& plan);

// For people who ask how much is spent.
struct RootCharges {
  std::string directory;  // the root
  std::vector<NeighbourSweep> sweeps;
  std::string trouble;  // why they are unknown; empty when they are not
};
[[nodiscard]] RootCharges ReadRoot(storage::Env& env, const ResultsView& view);
// The same of the sweep in `results`, which has to do with `digests` (unpacked, by `known`).
[[nodiscard]] RootCharges ReadRoot(storage::Env& env, const std::string& results, const std::set<std::string>& digests,
                                   const UnpackedDigests& known);
// Unpacked digests of what the ledger of `view` charges, and of what its trials use.
[[nodiscard]] std::set<std::string> DataDigests(const ResultsView& view);

}  // namespace retort::orchestrator
