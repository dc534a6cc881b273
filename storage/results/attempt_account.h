// Compares what attempt.h5 says of its trial's releases with the ledger, which is the authority.
#pragma once

#include <string>
#include <vector>

#include "experiments/base/ids.h"
#include "experiments/base/status.h"
#include "experiments/privacy/claim.h"
#include "experiments/privacy/privacy_event.h"
#include "storage/files/env.h"
#include "storage/log/privacy_ledger.h"
#include "storage/results/attempt_file.h"

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

// The draws in `charged` (equal events aggregated) that `recorded` does not count, one event for each mechanism.
[[nodiscard]] std::vector<privacy::PrivacyEvent> FindUncountedDraws(const std::vector<LedgerEntry>& recorded,
                                                                    const std::vector<privacy::PrivacyEvent>& charged);

// The draws in `recorded` that the ledger does not charge, because it was lost and begun anew, or an older copy took
// its place. Draws that were reserved and given back can be among them.
[[nodiscard]] std::vector<privacy::PrivacyEvent> FindForgottenDraws(const std::vector<LedgerEntry>& recorded,
                                                                    const std::vector<privacy::PrivacyEvent>& charged);

// FindUncountedDraws(recorded, charged) as entries of `attempt`, each charged in full under the id kUncountedId.
[[nodiscard]] std::vector<LedgerEntry> MakeUncountedEntries(const std::vector<LedgerEntry>& recorded,
                                                            const std::vector<privacy::PrivacyEvent>& charged,
                                                            AttemptId attempt, std::uint64_t generation,
                                                            const std::string& data_digest);

// Describes how the file's ledger and claims disagree with the account, one clause for each: draws too few or too many,
// claims that are not those of the account. Empty when they agree.
[[nodiscard]] std::vector<std::string> DescribeAccountDamage(const AttemptFile& file, const TrialAccount& account);
// Whether RecountAttemptFile would change the file: it lacks draws, or its claims are not those of the account, which
// knows all that the file does.
[[nodiscard]] bool NeedsRecount(const AttemptFile& file, const TrialAccount& account);

// Adds to the file at `path` the draws that it lacks and gives it the account's claims, unless the account lacks draws
// of the file: those claims would promise too much. Its other contents stay. One rename: a stop leaves the file as it
// was or as it should be. Error: damage or environment.
[[nodiscard]] Status RecountAttemptFile(Env& env, const std::string& path, const TrialAccount& account);

}  // namespace retort::storage
