// What a report is made of, and its parts in the order of the page. The page says nothing that is not in
// here: the same sources give the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "experiments/privacy/audit_report.h"
#include "orchestrator/cli/html_writer.h"
#include "orchestrator/cli/report_attempts.h"
#include "orchestrator/cli/result_table.h"
#include "orchestrator/cli/split_pictures.h"
#include "orchestrator/cli/sweep_status.h"

namespace retort::orchestrator::cli {

// What keeps a page small; what is left out is said, with the command that shows it.
struct ReportLimits {
  std::size_t detailed = 60;     // trials with a part of their own
  std::size_t statements = 200;  // privacy statements of a table
  std::size_t figures = 24;
  std::size_t picture_bytes = 12'000'000;  // of figures and samples, as they stand in the page
  std::size_t sample_bytes = 400'000;      // pixels of one trial's samples
  std::size_t samples = 36;                // of one trial
};

// Of a map, pictures of each kind: beyond it the map is left to `retort plot`, since its time grows with the
// square.
inline constexpr std::int64_t kMostOnMap = 200;

// At most so many of each part of the split.
using PicturesUpTo = std::function<Result<DataPictures>(const DataSpec&, std::int64_t most)>;
using AuditOf = std::function<Result<std::optional<privacy::AuditReport>>(const TrialView&)>;

struct ReportSources {
  const ResultsView& view;                 // as ReadShownResults gives it
  const SweepPlan& plan;                   // as PlanOfResults gives it
  const SweepStatus& status;               // of the view
  const std::vector<ResultTable>& tables;  // of the plan
  AttemptReader& attempts;
  AuditOf audit;
  PicturesUpTo pictures;  // for maps
  std::string sweep_toml;
  std::string command;                     // that makes this page
  double generated = 0;                    // unix seconds
  std::vector<std::string> troubles = {};  // sentences: what could not be read before
  ReportLimits limits = {};
};

struct ReportPage {
  std::string html;
  std::vector<std::string> troubles;       // all sentences about what could not be read
  std::size_t detailed = 0, left_out = 0;  // trials with and without a part of their own
};

// The whole page.
[[nodiscard]] ReportPage MakeReport(const ReportSources& sources);

// Its parts. What a part could not read it adds to `troubles`.
void WriteTables(Html& html, const ReportSources& sources);
void WriteFigures(Html& html, const ReportSources& sources, std::size_t& picture_bytes);
void WritePrivacy(Html& html, const ReportSources& sources);
void WriteFailures(Html& html, const ReportSources& sources);
void WriteTimings(Html& html, const ReportSources& sources);
void WriteProvenance(Html& html, const ReportSources& sources);
void WriteCommands(Html& html, const ReportSources& sources);
// Returns how many have a part of their own.
std::size_t WriteTrials(Html& html, const ReportSources& sources, std::size_t& picture_bytes,
                        std::vector<std::string>& troubles);

}  // namespace retort::orchestrator::cli
