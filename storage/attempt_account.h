// What attempt.h5 says of its trial's releases, held against the ledger, which is the record.
#pragma once

#include <string>
#include <vector>

#include "experiments/privacy/claim.h"
#include "experiments/privacy/privacy_event.h"
#include "experiments/spec/ids.h"
#include "experiments/spec/status.h"
#include "storage/attempt_file.h"
#include "storage/env.h"
#include "storage/privacy_ledger.h"

namespace retort::storage {

// The entry for draws that the ledger charged to the trial and whose reservations its attempts' folders did not
// keep. Workers number their reservations from 1.
inline constexpr std::uint64_t kUncountedId = 0;

// What the ledger knows of a trial.
struct TrialAccount {
  std::string data_digest;                     // 64 hex: the private data set
  std::vector<privacy::PrivacyEvent> charged;  // equal events aggregated
  std::vector<privacy::Claim> claims;          // what follows from it
};

// The draws in `charged` (equal events aggregated) that `recorded` does not count: one event a mechanism.
[[nodiscard]] std::vector<privacy::PrivacyEvent> Uncounted(const std::vector<LedgerEntry>& recorded,
                                                           const std::vector<privacy::PrivacyEvent>& charged);

// The other way round: the draws in `recorded` that the ledger does not charge, since it was lost and begun anew, or an
// older copy took its place. Draws that were reserved and given back can be among them.
[[nodiscard]] std::vector<privacy::PrivacyEvent> Forgotten(const std::vector<LedgerEntry>& recorded,
                                                           const std::vector<privacy::PrivacyEvent>& charged);

// Uncounted(recorded, charged) as entries of `attempt`, each charged in full under the id kUncountedId.
[[nodiscard]] std::vector<LedgerEntry> UncountedEntries(const std::vector<LedgerEntry>& recorded,
                                                        const std::vector<privacy::PrivacyEvent>& charged,
                                                        AttemptId attempt, std::uint64_t generation,
                                                        const std::string& data_digest);

// How the file's ledger and claims disagree with the account, a sentence each: draws too few or too many, claims that
// are not those of the account. Empty when they agree.
[[nodiscard]] std::vector<std::string> AccountDamage(const AttemptFile& file, const TrialAccount& account);
// Whether RecountAttemptFile would change the file: it lacks draws, or its claims are not those of the account, which knows
// all that the file does.
[[nodiscard]] bool NeedsRecount(const AttemptFile& file, const TrialAccount& account);

// Adds to the file at `path` the draws that it lacks and gives it the account's claims, unless the account lacks draws of
// the file: those claims would promise too much. Its other contents stay. One
// rename: a stop leaves the file as it was or as it should be. Error: damage or environment.
[[nodiscard]] Status RecountAttemptFile(Env& env, const std::string& path, const TrialAccount& account);

}  // namespace retort::storage
