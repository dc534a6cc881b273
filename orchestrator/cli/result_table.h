// A published-form table as a value: what every output format prints.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/privacy/claim.h"
#include "experiments/spec/sweep.h"
#include "orchestrator/cli/published.h"
#include "orchestrator/cli/statistics.h"
#include "orchestrator/results_view.h"

namespace retort::orchestrator::cli {

enum class CellState : unsigned char { complete, partial, missing, quoted };
[[nodiscard]] std::string_view CellStateName(CellState state);

// All trials that agree in the row and column keys; they differ in seed.
struct TableCell {
  std::vector<std::string> row, column;  // values, in the order of the table's keys
  Summary summary;                       // of the metric, over the trials that have it
  int planned = 0, failed = 0;           // trials; `summary.n` of them are measured
  CellState state = CellState::missing;
  std::optional<double> published;
  std::vector<privacy::Claim> claims;  // the worst over the measured trials
  std::vector<TrialId> trials;         // all planned ones
  bool working = false;                // the trials are in the working reading
};

struct TeacherLine {
  std::string name, method, network, data;
  Summary summary;
  int planned = 0, failed = 0;
  std::optional<double> published;
  std::vector<privacy::Claim> claims;
  std::vector<TrialId> trials;
};

struct ResultTable {
  TableSpec spec;
  std::string sweep;
  std::vector<TeacherLine> teachers;
  std::vector<TableCell> cells;       // rows in plan order, the columns of one row together
  std::vector<std::string> warnings;  // whole sentences
  std::vector<std::string> statements;  // the privacy of the rows in paragraphs, where asked for
  std::string spec_hash;              // 12 hex digits over the ids of the table's trials
  bool running = false;               // the sweep is being run right now
};

// Cells of every student of the plan. `view` may hold fewer trials than the plan, or more. An axis that neither
// rows nor columns name becomes a row key where trials of one cell differ in it: only seeds share a cell.
[[nodiscard]] ResultTable BuildTable(const SweepPlan& plan, const TableSpec& asked, const ResultsView& view,
                                     const std::vector<PublishedValue>& published);

// A table over method, reading and teacher, for sweeps that declare none.
[[nodiscard]] TableSpec DefaultTable(const SweepPlan& plan);

}  // namespace retort::orchestrator::cli
