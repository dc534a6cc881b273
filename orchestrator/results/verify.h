// Verifies a results folder: whether what is stored is what was written, and whether rows, ledger and attempts agree.
#pragma once

#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "orchestrator/results/results_view.h"
#include "storage/files/env.h"
#include "storage/results/attempt_account.h"
#include "storage/results/attempt_file.h"
#include "storage/results/result_file.h"

namespace retort::orchestrator {

// One sentence for each disagreement; empty when all is well. `row.attempt_file` is relative to `results`. `account`:
// what the ledger counts for the trial, and the row's claims.
[[nodiscard]] std::vector<std::string> FindAttemptDamage(storage::Env& env, const std::string& results,
                                                         const storage::ResultRow& row,
                                                         const storage::TrialAccount& account);

// Whether `file` holds what `row` was written for: its trial, spec, metrics and parameters give the row's
// digest. Error: damage, saying what differs.
[[nodiscard]] Status CheckAgainstRow(const storage::AttemptFile& file, const storage::ResultRow& row);

// Whether what is stored is what was written, and whether rows, ledger and attempts agree.

struct Damage {
  std::string where;                     // file relative to the results folder, or a trial's shown name
  std::string what;                      // one sentence
  StatusCode code = StatusCode::damage;  // environment: it could not be read, and nobody can say whether it is whole
};

struct VerifyReport {
  int rows = 0, attempts = 0, logs = 0, checkpoints = 0;  // checked
  int ledger_entries = 0;
  std::vector<Damage> damage;
  Status other_version;  // an error where journal or ledger is of another version: it says nothing about damage
  std::vector<std::string> remarks;  // torn tails and the like, which the next run mends by itself
};

// Reads every log, row and attempt file of the folder. Parts that cannot be read are damage, not errors.
[[nodiscard]] VerifyReport Verify(storage::Env& env, const std::string& directory);

}  // namespace retort::orchestrator
