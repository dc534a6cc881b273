// The page of `retort report`, and what it is made of. It says nothing that is not in ReportSources: the same sources
// give the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/privacy/audit_report.h"
#include "orchestrator/cli/render/html.h"
#include "orchestrator/results/attempt_reader.h"
#include "orchestrator/results/sweep_status.h"
#include "orchestrator/results/tables/result_table.h"
#include "orchestrator/results/tables/split_images.h"

namespace retort::orchestrator::cli {

// What keeps a page small; what is left out is said, with the command that shows it.
struct ReportLimits {
  std::size_t detailed = 60;     // trials with a part of their own
  std::size_t statements = 200;  // privacy statements of a table
  std::size_t figures = 24;
  std::size_t drawn_bytes = 12'000'000;  // of figures and samples, as they stand in the page
  std::size_t sample_bytes = 400'000;    // pixels of one trial's samples
  std::size_t samples = 36;              // of one trial
};

// Of a map, pictures of each kind: beyond it the map is left to `retort plot`, since its time grows with the
// square.
inline constexpr std::int64_t kMaxOnMap = 200;

// At most so many of each part of the split.
using ImagesUpTo = std::function<Result<DataImages>(const DataSpec&, std::int64_t most)>;
using AuditSource = std::function<Result<std::optional<privacy::AuditReport>>(const TrialView&)>;

struct ReportSources {
  const ResultsView& view;                 // as ReadShownResults gives it
  const SweepPlan& plan;                   // as RebuildPlan gives it
  const SweepStatus& status;               // of the view
  const std::vector<ResultTable>& tables;  // of the plan
  AttemptReader& attempts;
  AuditSource audit;
  ImagesUpTo pictures;  // for maps
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
// What stands below its header: for a page that has ReportStyle and ReportScript.
[[nodiscard]] ReportPage MakeReportBody(const ReportSources& sources);

// How a report looks and what its one script does. Both are part of the page; nothing is fetched.

// Every variable --ink… may stand as text on every variable --paper… at a contrast of 4.5 or more, in both schemes.
[[nodiscard]] std::string_view ReportStyle();
// Sorts tables by their headers, those of a body that comes later after the document's event "report-changed", and
// opens what is folded while the page is printed. The page says the same without it.
[[nodiscard]] std::string_view ReportScript();
// What a policy names a style or a script of the page by: "'sha256-…'".
[[nodiscard]] std::string HashSource(std::string_view text);
// Nothing but that style, that script and images of the page itself may be loaded or run.
[[nodiscard]] std::string ReportPolicy();

}  // namespace retort::orchestrator::cli
