// Reads the other sweeps of a results root, the folder that holds this sweep's results folder. What they charged to
// private data sets counts against budgets, and the budgets that they set bind this sweep. Data sets that share private
// examples count together, whatever their files and names (shared_examples.h).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "experiments/privacy/privacy_event.h"
#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/core/privacy_charges.h"
#include "orchestrator/results/results_view.h"
#include "orchestrator/results/shared_examples.h"
#include "storage/files/env.h"

namespace retort::orchestrator {

using ChargedByData =
    std::map<std::string, std::vector<privacy::PrivacyEvent>>;          // by unpacked digest, equal ones aggregated
using BudgetsByData = std::map<std::string, std::vector<OtherBudget>>;  // by unpacked digest

struct OtherSweep {
  std::string directory;
  bool running = false;
  std::string noted_root;  // ResultsView::noted_root
  // What costs its data set something, by unpacked digest; void where its trial's claims have no bound.
  ChargedByData charged;
  std::set<std::string> planned;          // unpacked digests of its trials' data sets
  std::map<std::string, Budget> budgets;  // of its own, by unpacked digest
};

// What lies beside a results folder in its root.
struct OtherFolders {
  std::vector<std::string> sweeps;   // folders that hold a journal or a ledger; each once, by whatever names it has
  std::vector<std::string> unknown;  // sentences: what may be such a folder and cannot be looked into
};
// Error: environment, when the root cannot be listed.
[[nodiscard]] Result<OtherFolders> ListOtherFolders(storage::Env& env, const std::string& results);

// Of each folder beside `results` that began as the same journal, a sentence: one is a copy of the other.
[[nodiscard]] std::vector<std::string> DescribeCopies(storage::Env& env, const std::string& results);
// Of each that nobody can look into, one: what was charged there is not counted.
[[nodiscard]] std::vector<std::string> DescribeUncounted(storage::Env& env, const std::string& results);

// Sentences about copies in the root of `view`, and about its own place.
[[nodiscard]] std::vector<std::string> ListCopyNotes(storage::Env& env, const ResultsView& view);

// Whether a folder with that ResultsView::noted_root stands in another root than the one in which it was first run.
[[nodiscard]] bool IsInForeignRoot(const std::string& noted_root, const SharedExamples& shared);
// Why nobody can say what is spent where a folder stands in another root than the one in which it was first run.
[[nodiscard]] std::string DescribeForeignRoot(const std::string& results);

// Those that have charged what counts for one of `digests` (unpacked), those that set a budget for such data, and those
// that are running with such data in their plan. Error: environment or damage, naming the folder that cannot be read,
// or not even be looked into; what it charged is then unknown. `known`: beside what each of them knows. `shared` is
// told of what they have no marks of.
[[nodiscard]] Result<std::vector<OtherSweep>> ReadOtherSweeps(storage::Env& env, const std::string& results,
                                                              const std::set<std::string>& digests,
                                                              const UnpackedDigests& known, SharedExamples& shared);

// What a results root means for a sweep in it.
struct RootTerms {
  ChargedByData charged;  // beside the sweep's own ledger, of data under a budget
  // That other sweeps set, running or not, for data of the plan; and that data of the plan sets for other data of it.
  BudgetsByData budgets;
};

// The budgets that other sweeps set for data of `plan`, as far as it can be told what folders are sweeps. Error:
// environment, naming a folder that may have charged such data and whose journal cannot be read.
[[nodiscard]] Result<BudgetsByData> ReadOtherBudgets(storage::Env& env, const std::string& results,
                                                     const SweepPlan& plan, SharedExamples& shared);

// What budgets, of `plan` or of other sweeps, must count. A budget covers the root only while nobody else
// draws there: call under the folder's lock. Error: environment, with the remedy, when another sweep
// with a budgeted data set cannot be read or is running, or when another running sweep has a budget for a data set of
// this plan; as ReadOtherBudgets.
[[nodiscard]] Result<RootTerms> ReadRootTerms(storage::Env& env, const std::string& results, const SweepPlan& plan,
                                              SharedExamples& shared);

// For people who ask how much is spent.
struct RootCharges {
  std::string directory;  // the root
  std::vector<OtherSweep> sweeps;
  std::string trouble;  // why they are unknown; empty when they are not
  std::vector<std::string>
      copies;  // sentences: folders that are copies of others, so that something counts twice or apart
  std::vector<std::string> uncounted;  // DescribeUncounted
  SharedExamples shared;
};
[[nodiscard]] RootCharges ReadRoot(storage::Env& env, const ResultsView& view);
// The same of the sweep in `results`, which has to do with `digests` (unpacked, by `known`) of its `data`; `noted_root`
// as of ResultsView.
[[nodiscard]] RootCharges ReadRoot(storage::Env& env, const std::string& results, const std::set<std::string>& digests,
                                   const UnpackedDigests& known, const DataSets& data, const std::string& noted_root);
// Unpacked digests of what the ledger of `view` charges, and of what its trials use.
[[nodiscard]] std::set<std::string> ListDataDigests(const ResultsView& view);

// What the other sweeps of a root mean for data sets of one sweep, by its unpacked digests.
struct OtherCharges {
  std::map<std::string, std::vector<std::vector<privacy::PrivacyEvent>>> charged;  // by each of them
  BudgetsByData budgets;
};
// What is charged to, or caps, data that shares examples with one of `digests` counts for it.
[[nodiscard]] OtherCharges CollectOtherCharges(const RootCharges& root, const std::set<std::string>& digests);

}  // namespace retort::orchestrator
