// What a report says about trials, failures, times, and how the results came about.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "orchestrator/cli/render/html.h"
#include "orchestrator/cli/render/report_page.h"

namespace retort::orchestrator::cli {

void WriteFailures(Html& html, const ReportSources& sources);
void WriteTimings(Html& html, const ReportSources& sources);
void WriteProvenance(Html& html, const ReportSources& sources);
void WriteCommands(Html& html, const ReportSources& sources);
// What a part could not read is added to `troubles`.
// Returns how many have a part of their own.
std::size_t WriteTrials(Html& html, const ReportSources& sources, std::size_t& drawn_bytes,
                        std::vector<std::string>& troubles);

}  // namespace retort::orchestrator::cli
