// Trials, ledger entries and status in the contract's JSON forms.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/results_view.h"
#include "storage/privacy_ledger.h"

namespace retort::orchestrator::cli {

// Of the newest ended attempt, or that an audit refutes what the trial or its teacher claims; empty for
// neither.
[[nodiscard]] std::string FailureWord(const TrialView& trial);

// {"trial","name","state","attempts","failure","metrics","row_digest","spec"}; `detail` when there is one.
[[nodiscard]] nlohmann::ordered_json TrialJson(const TrialView& trial);
// The same as text on one line, with further members: the names and texts of JSON values.
[[nodiscard]] std::string TrialText(const TrialView& trial,
                                    const std::vector<std::pair<std::string, std::string>>& further = {});
[[nodiscard]] nlohmann::ordered_json LedgerEntryJson(const storage::LedgerEntry& entry);

}  // namespace retort::orchestrator::cli
