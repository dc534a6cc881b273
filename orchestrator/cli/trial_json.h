// Trials, ledger entries and status in the contract's JSON forms.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "orchestrator/results_view.h"
#include "storage/privacy_ledger.h"

namespace retort::orchestrator::cli {

// {"trial","name","state","attempts","failure","metrics","row_digest","spec"}; `detail` when there is one.
[[nodiscard]] nlohmann::ordered_json TrialJson(const TrialView& trial);
[[nodiscard]] nlohmann::ordered_json LedgerEntryJson(const storage::LedgerEntry& entry);

}  // namespace retort::orchestrator::cli
