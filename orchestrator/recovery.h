// Journal and ledger to a core that can go on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "experiments/spec/status.h"
#include "orchestrator/core.h"
#include "orchestrator/journal.h"
#include "storage/env.h"
#include "storage/privacy_ledger.h"

namespace retort::orchestrator {

// What the owner of a results folder works with.
struct Recovered {
  Core core;
  Journal journal;
  std::unique_ptr<storage::PrivacyLedger> ledger;
};

// What the ledger has lost, in a sentence and the remedy, when it holds only `reservations` and the journal
// of `core` knows of more; empty when it does not.
[[nodiscard]] std::string LostLedgerText(const Core& core, std::uint64_t reservations);

// The names in `results`/trials; none where there is no such folder. Error: environment.
[[nodiscard]] Result<std::vector<std::string>> TrialFolders(storage::Env& env, const std::string& results);
// Which trials have folders with attempts and are known neither to the journal of `core` nor, as `charged` says, to the
// ledger: both were removed, or older copies of them put back, and what those trials drew is charged nowhere. A sentence
// and the remedy; empty when there are none. `folders`: TrialFolders, as they were before journal and ledger were read.
// Error: environment.
[[nodiscard]] Result<std::string> LostTrialsText(storage::Env& env, const Core& core,
                                                 const std::vector<std::string>& folders,
                                                 const std::function<bool(TrialId)>& charged);

// Says so in Core::ledger_lost. The caller holds the folder's lock. Error: environment.
[[nodiscard]] Status NoteLostTrials(storage::Env& env, Core& core);

// Opens journal and ledger for writing, creating them when absent. The caller holds the folder's lock.
// Error: environment when the ledger has lost what the journal knows of; it is left as it is.
// Attempts that a dead orchestrator left behind are still leased or running in the core: OpenSweep
// queues them again. Trials that are lost are noted; the plan may know some of them again.
[[nodiscard]] Result<Recovered> RecoverResults(storage::Env& env, const Settings& settings);

}  // namespace retort::orchestrator
