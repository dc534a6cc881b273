// Reads what a report is made of from a results folder.
#pragma once

#include <string>

#include "orchestrator/cli/render/report_page.h"
#include "orchestrator/results/results_view.h"
#include "storage/files/env.h"

namespace retort::orchestrator::cli {

struct ReportRequest {
  std::string profile;     // that the user named; empty: as the folder says
  std::string command;     // that makes the page
  double generated = 0;    // unix seconds
  std::string shown = {};  // what the page calls the results folder; empty: what the view does
};

// `view`: as ReadShownResults gives it; metrics that tables and figures ask for are added to it, and its folder
// gets the name under which it is shown. `make`: MakeReport or MakeReportBody. The page says what could not be read.
[[nodiscard]] ReportPage ReadReport(storage::Env& env, ResultsView& view, const ReportRequest& request,
                                    ReportPage (*make)(const ReportSources&));

}  // namespace retort::orchestrator::cli
