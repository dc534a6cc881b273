// The tables, the figures and the privacy statements of a report.
#pragma once

#include <cstddef>

#include "orchestrator/cli/render/html.h"
#include "orchestrator/cli/render/report_page.h"

namespace retort::orchestrator::cli {

void WriteTables(Html& html, const ReportSources& sources);
void WriteFigures(Html& html, const ReportSources& sources, std::size_t& drawn_bytes);
void WritePrivacy(Html& html, const ReportSources& sources);

}  // namespace retort::orchestrator::cli
