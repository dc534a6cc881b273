// Writes one trial on a page, with what its attempts left.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/cli/render/report_page.h"

namespace retort::orchestrator::cli {

// "trial-1f3a9c2e…", the id of its part of the page.
[[nodiscard]] std::string FormatTrialAnchor(const TrialView& trial);

// Folded. `ledger`: the trial's own entries, by id. `drawn_bytes` grows by what its pictures take.
void WriteTrial(Html& html, const ReportSources& sources, const TrialView& trial,
                const std::vector<const storage::LedgerEntry*>& ledger, std::size_t& drawn_bytes,
                std::vector<std::string>& troubles);

}  // namespace retort::orchestrator::cli
