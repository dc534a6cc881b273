// Decides whether a disturbed sweep ended as the undisturbed one did. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "experiments/base/failure_kind.h"
#include "experiments/base/ids.h"
#include "orchestrator/results/results_view.h"
#include "storage/log/privacy_ledger.h"

namespace retort::orchestrator::cli {

// What the workers of a trial recorded for themselves before they drew (the ledger of attempt.h5), over all
// attempts that led to its result.
using WitnessedDraws = std::map<TrialId, std::vector<storage::LedgerEntry>>;

struct ChaosVerdict {
  int rows = 0, equal = 0;                // compared; with the same digest over spec, metrics and parameters
  std::int64_t charged = 0, drawn = 0;    // by the ledger, over all trials; what their results take
  std::vector<std::string> lost;          // trials without the row that the undisturbed sweep has
  std::vector<std::string> different;     // with another row; says what differs
  std::vector<std::string> undercounted;  // charged less than was drawn; says by how much
  std::vector<std::string> damage;        // what `retort verify` finds
  std::vector<std::string> unexplained;   // failed for good though no disturbance does that; says how
  [[nodiscard]] bool ok() const {
    return lost.empty() && different.empty() && undercounted.empty() && damage.empty() && unexplained.empty();
  }
  // The sum of several folders.
  void Add(const ChaosVerdict& other);
};

// Whether what was done to a folder can make a trial there fail for good in this way. `full_disk`: a run had no room
// to write; `kills`: SIGKILLs, to workers or runs.
[[nodiscard]] bool ExplainsFailure(FailureKind failure, bool full_disk, int kills);

// `damage` and `unexplained` are left to the caller. Both folders are of the same sweep.
[[nodiscard]] ChaosVerdict Judge(const ResultsView& undisturbed, const ResultsView& disturbed,
                                 const WitnessedDraws& draws);

}  // namespace retort::orchestrator::cli
