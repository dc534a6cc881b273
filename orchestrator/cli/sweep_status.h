// How a sweep stands, as a value: what `retort status` prints.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/spec/trial_spec.h"
#include "orchestrator/cli/devices.h"
#include "orchestrator/cost_model.h"
#include "orchestrator/neighbours.h"
#include "orchestrator/results_view.h"
#include "orchestrator/spending.h"
#include "orchestrator/sweep_estimate.h"

namespace retort::orchestrator::cli {

struct Problem {
  int severity = 0;    // larger is worse; problems come worst first
  std::string what;    // one sentence
  std::string remedy;  // a command, or what to change
  std::vector<TrialId> trials;
};

// What trials, ledger and known costs say, and the folder around them does not.
struct TrialsStatus {
  int trials = 0;
  bool finished = false;  // every trial is final
  std::vector<std::pair<std::string, int>> counts;  // states that occur, in the order of TrialState
  std::vector<Problem> problems;  // refuted claims, failures that are alike as one, the rest; commands without the folder
  std::vector<DataSpending> spending;  // ShownSpending
  std::optional<SweepEstimate> remaining;  // nothing when a trial's cost is unknown, or all are final
};

struct SweepStatus {
  const ResultsView* view = nullptr;
  int trials = 0;
  std::vector<std::pair<std::string, int>> counts;  // states that occur, in the order of TrialState
  std::vector<Problem> problems;
  std::vector<DataSpending> spending;
  std::optional<SweepEstimate> remaining;  // as of TrialsStatus
  std::vector<DeviceView> devices;         // of a run that goes on
  CostModel costs;                         // that `remaining` rests on
  bool finished = false;                   // every trial is final
  std::string next;                        // the next command
};

// What is wrong where the ledger speaks of trials and the journal of none; empty when it is not so.
[[nodiscard]] std::string LostJournalText(const ResultsView& view);
[[nodiscard]] std::vector<std::pair<std::string, int>> CountStates(const ResultsView& view);
// Slots of the newest run, as far as the journal tells; at least 1.
[[nodiscard]] int SlotsOf(const ResultsView& view);
// `costs`: measured on machines like those that run the sweep. `now_unix_seconds` 0: as of the newest event. `root`:
// what its other sweeps have charged; null: nobody looked.
[[nodiscard]] SweepStatus StatusOf(const ResultsView& view, const CostModel& costs = {}, double now_unix_seconds = 0,
                                   const RootCharges* root = nullptr);
// The same in its two halves. Of a sweep that nobody runs, the first does not depend on the time, and the second looks
// at no trial of `view`.
[[nodiscard]] TrialsStatus TrialsStatusOf(const ResultsView& view, const CostModel& costs = {},
                                          double now_unix_seconds = 0, const RootCharges* root = nullptr);
[[nodiscard]] SweepStatus StatusFrom(const ResultsView& view, TrialsStatus trials, const CostModel& costs = {},
                                     double now_unix_seconds = 0);
// Of a sweep that is over: how it ended, and where the results are, in a sentence.
[[nodiscard]] std::string EndingText(const SweepStatus& status);
// What is spent of one private data set, in a line without its end.
[[nodiscard]] std::string SpendingLine(const DataSpending& spent);
[[nodiscard]] nlohmann::ordered_json SpendingJson(const DataSpending& spent);

[[nodiscard]] std::string StatusAsText(const SweepStatus& status, double now_unix_seconds, std::size_t width);
// The same for who watched it to its end.
[[nodiscard]] std::string FinalStatusAsText(const SweepStatus& status, double now_unix_seconds, std::size_t width);
[[nodiscard]] std::string StatusAsJson(const SweepStatus& status);

}  // namespace retort::orchestrator::cli
