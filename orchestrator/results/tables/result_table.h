// Builds a table of results as a value, in the form in which papers print it: every output format prints this value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/methods/stated_settings.h"
#include "experiments/privacy/claim.h"
#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/results/results_view.h"
#include "orchestrator/results/tables/published.h"
#include "orchestrator/results/tables/statistics.h"

namespace retort::orchestrator {

enum class CellState : unsigned char { complete, partial, missing, quoted };
[[nodiscard]] std::string_view GetCellStateName(CellState state);

// 95 % of a fraction of the test examples: how far it may lie from the one on all that could be drawn like them.
struct TestInterval {
  std::int64_t n = 0;  // test examples
  double low = 0, high = 0;
};

// All trials that agree in the row and column keys; they differ in seed.
struct TableCell {
  std::vector<std::string> row, column;  // values, in the order of the table's keys
  SeedSummary summary;                   // of the metric, over the trials that have it
  int planned = 0, failed = 0;           // trials; `summary.n` of them are measured
  CellState state = CellState::missing;
  std::optional<double> published;
  std::vector<privacy::Claim> claims;    // the worst over the measured trials
  std::vector<TrialId> trials;           // all planned ones
  std::string working;                   // "working" or "stated": the trials' reading, where its noise is theirs
  std::string data;                      // name of the data set
  double epsilon = 0;                    // asked for; of a quoted cell the paper's; 0 = none
  std::optional<TestInterval> test;      // of the mean
  std::optional<PublishedValue> source;  // what `published` is
  std::vector<std::string> notes;        // footnotes of `published`
  std::vector<Difference> differs;       // settings of the trials that are not the paper's
  bool best = false;                     // among measured cells that compare (MarkBest)
  bool best_published = false;           // among published values that compare
};

struct TeacherLine {
  std::string name, method, network, data;
  SeedSummary summary;
  int planned = 0, failed = 0;
  std::optional<double> published;
  std::vector<privacy::Claim> claims;
  std::vector<TrialId> trials;
  std::optional<TestInterval> test;
  std::optional<PublishedValue> source;
  std::vector<std::string> notes;
};

struct ResultTable {
  TableSpec spec;
  std::string sweep;
  bool smoke = false;  // of the profile "smoke": at a size that shows that it works, and nothing else
  std::vector<TeacherLine> teachers;
  std::vector<TableCell> cells;         // rows in plan order, the columns of one row together
  std::vector<std::string> warnings;    // whole sentences
  std::vector<std::string> settings;    // by method and reading: what differs from the texts, and what was chosen
  std::vector<std::string> search;      // of a sweep that searches: how it stands, and what its score costs
  std::vector<std::string> statements;  // the privacy of the rows in paragraphs, where asked for
  std::string spec_hash;                // 12 hex digits over the ids of the table's trials
  bool running = false;                 // the sweep is being run right now
};

// Cells of every student of the table, and the teachers that they name. `view` may hold fewer trials than the plan, or
// more. An axis that neither rows nor columns name becomes a row key where trials of one cell differ in it: only seeds
// share a cell.
[[nodiscard]] ResultTable BuildTable(const SweepPlan& plan, const TableSpec& asked, const ResultsView& view,
                                     const std::vector<PublishedValue>& published);

// A table over method, reading and teacher, for sweeps that declare none.
[[nodiscard]] TableSpec MakeDefaultTable(const SweepPlan& plan);

// Which cells of a table are the best of those that compare.

// 1: more is better (accuracies); -1: less is (losses, seconds, parameters); 0: not known, nothing is best.
[[nodiscard]] int GetBetterDirection(const std::string& metric);

// Sets `best` of measured cells and `best_published` of published values. Cells compare that stand in the same column,
// are of the same data set and were asked for the same epsilon; those whose epsilon for an example is proven compare
// among themselves. Where there is nothing to compare with, nothing is best; values that read the same, all are.
void MarkBest(ResultTable& table);

}  // namespace retort::orchestrator
