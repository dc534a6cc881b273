// Journal and ledger to a core that can go on.
#pragma once

#include <memory>
#include <string>

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

// Opens journal and ledger for writing, creating them when absent. The caller holds the folder's lock.
// Error: environment when the ledger has lost what the journal knows of; it is left as it is.
// Attempts that a dead orchestrator left behind are still leased or running in the core: OpenSweep
// queues them again.
[[nodiscard]] Result<Recovered> RecoverResults(storage::Env& env, const Settings& settings);

}  // namespace retort::orchestrator
