// Whether an attempt's file is what its row says.
#pragma once

#include <string>
#include <vector>

#include "experiments/spec/status.h"
#include "storage/attempt_account.h"
#include "storage/attempt_file.h"
#include "storage/env.h"
#include "storage/result_file.h"

namespace retort::orchestrator::cli {

// One sentence for each disagreement; empty when all is well. `row.attempt_file` is relative to `results`. `account`:
// what the ledger counts for the trial, and the row's claims.
[[nodiscard]] std::vector<std::string> AttemptDamage(storage::Env& env, const std::string& results,
                                                     const storage::ResultRow& row,
                                                     const storage::TrialAccount& account);

// Whether `file` holds what `row` was written for: its trial, spec, metrics and parameters give the row's
// digest. Error: damage, saying what differs.
[[nodiscard]] Status CheckAgainstRow(const storage::AttemptFile& file, const storage::ResultRow& row);

}  // namespace retort::orchestrator::cli
