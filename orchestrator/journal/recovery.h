// Rebuilds the core from journal and ledger, and makes durable what the reactor decides.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "orchestrator/core/core.h"
#include "orchestrator/core/outbox.h"
#include "orchestrator/journal/journal.h"
#include "storage/files/env.h"
#include "storage/log/privacy_ledger.h"

namespace retort::orchestrator {

// What the owner of a results folder works with.
struct Recovered {
  Core core;
  Journal journal;
  std::unique_ptr<storage::PrivacyLedger> ledger;
};

// Returns what the ledger has lost, as a sentence with the remedy, where it holds only `reservations` and the journal
// of `core` knows of more; else empty.
[[nodiscard]] std::string DescribeLostLedger(const Core& core, std::uint64_t reservations);

// Lists the names in `results`/trials; none where there is no such folder. Error: environment.
[[nodiscard]] Result<std::vector<std::string>> ListTrialFolders(storage::Env& env, const std::string& results);
// Returns which trials have folders with attempts and are known neither to the journal of `core` nor, as `charged`
// says, to the ledger, as a sentence with the remedy; empty where there are none. Both files were removed then, or
// older copies put back, and what those trials drew is charged nowhere. `folders`: ListTrialFolders, as they were
// before journal and ledger were read. Error: environment.
[[nodiscard]] Result<std::string> DescribeLostTrials(storage::Env& env, const Core& core,
                                                     const std::vector<std::string>& folders,
                                                     const std::function<bool(TrialId)>& charged);

// Stores DescribeLostTrials in Core::ledger_lost. The caller holds the folder's lock. Error: environment.
[[nodiscard]] Status NoteLostTrials(storage::Env& env, Core& core);

// Opens journal and ledger for writing, creating them when absent. The caller holds the folder's lock.
// Error: environment when the ledger has lost what the journal knows of; it is left as it is.
// Attempts that a dead orchestrator left behind are still leased or running in the core: OpenSweep
// queues them again. Trials that are lost are noted; the plan may know some of them again.
[[nodiscard]] Result<Recovered> RecoverResults(storage::Env& env, const Settings& settings);

// Committing, in the order on which recovery rests.

// Ledger requests, then journal events (and how much the ledger holds now), each synced. Afterwards
// `outbox.messages` may be sent, and not before; reservations have added theirs. Error: nothing of the outbox
// may be sent, and neither log can be written any more.
[[nodiscard]] Status CommitOutbox(Recovered& recovered, Outbox& outbox);
// Its journal events alone; a CommitOutbox of the same outbox leaves them out.
[[nodiscard]] Status CommitJournal(Recovered& recovered, Outbox& outbox);

}  // namespace retort::orchestrator
