// Whether what is stored is what was written, and whether rows, ledger and attempts agree.
#pragma once

#include <string>
#include <vector>

#include "experiments/spec/status.h"
#include "orchestrator/results_view.h"
#include "storage/env.h"

namespace retort::orchestrator::cli {

struct Damage {
  std::string where;  // file relative to the results folder, or a trial's shown name
  std::string what;   // one sentence
  StatusCode code =
      StatusCode::damage;  // environment: it could not be read, and nobody can say whether it is whole
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

}  // namespace retort::orchestrator::cli
