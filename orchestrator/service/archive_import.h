// Makes a results folder of an archive of rows (row_archive.h).
#pragma once

#include <string>

#include "experiments/base/status.h"
#include "orchestrator/results/row_archive.h"
#include "storage/files/env.h"

namespace retort::orchestrator {

// `results` does not exist yet, or is empty. Trials that ended keep rows, curves and what they charged, and have no
// parameters; a run of the same sweep takes up the others. What is made is verified before it is given away: the claims
// of each row must follow from the ledger, and its digest from its settings. Error: usage, for a folder that holds
// something; damage, for an archive that contradicts itself, of which nothing is left; environment.
[[nodiscard]] Status ImportArchive(storage::Env& env, const RowArchive& archive, const std::string& results);

}  // namespace retort::orchestrator
