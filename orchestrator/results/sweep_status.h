// Computes how a sweep stands, as a value: counts, problems with the worst first, spending, time left, the next
// command. Trials that failed alike are one problem.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/methods/trial_spec.h"
#include "orchestrator/core/cost_model.h"
#include "orchestrator/results/devices.h"
#include "orchestrator/results/results_root.h"
#include "orchestrator/results/results_view.h"
#include "orchestrator/results/search_standing.h"
#include "orchestrator/results/spending.h"
#include "orchestrator/results/sweep_estimate.h"

namespace retort::orchestrator {

using TrialGroup = std::vector<const TrialView*>;  // never empty

// Of the newest ended attempt, or that an audit refutes what the trial or its teacher claims; empty for
// neither.
[[nodiscard]] std::string FindFailureWord(const TrialView& trial);

// Of one failure (FindFailureWord), with the same first sentence of the detail but for the numbers in it: process ids,
// steps, times. Those that are final also have their state in common. The largest first; equal ones, and the trials of
// each, in the order of `trials`.
[[nodiscard]] std::vector<TrialGroup> GroupFailures(const TrialGroup& trials);

// Of a failure's detail, on one line and without the stop at its end.
[[nodiscard]] std::string FindFirstSentence(std::string_view detail);
// The detail on one line where it has no more than `width` columns, else what fits of its first sentence.
[[nodiscard]] std::string ShortenDetail(std::string_view detail, std::size_t width);

// How a sweep stands, as a value: what `retort status` prints.

struct Problem {
  int severity = 0;    // larger is worse; problems come worst first
  std::string what;    // one sentence
  std::string remedy;  // a command, or what to change
  std::vector<TrialId> trials;
};

// What trials, ledger and known costs say, and the folder around them does not.
struct TrialsStatus {
  int trials = 0;
  bool finished = false;                            // every trial is final
  std::vector<std::pair<std::string, int>> counts;  // states that occur, in the order of TrialState
  std::vector<Problem>
      problems;  // refuted claims, failures that are alike as one, the rest; commands without the folder
  std::vector<DataSpending> spending;      // SelectShownSpending
  std::optional<SweepEstimate> remaining;  // nothing when a trial's cost is unknown, or all are final
  std::optional<SearchStanding> search;    // of a sweep that searches
};

struct SweepStatus {
  const ResultsView* view = nullptr;
  int trials = 0;
  std::vector<std::pair<std::string, int>> counts;  // states that occur, in the order of TrialState
  std::vector<Problem> problems;
  std::vector<DataSpending> spending;
  std::optional<SweepEstimate> remaining;  // as of TrialsStatus
  std::optional<SearchStanding> search;    // as of TrialsStatus
  std::vector<DeviceView> devices;         // of a run that goes on
  CostModel costs;                         // that `remaining` rests on
  bool finished = false;                   // every trial is final
  std::string next;                        // the next command
};

// What is wrong where the ledger speaks of trials and the journal of none; empty when it is not so.
[[nodiscard]] std::string DescribeLostJournal(const ResultsView& view);
[[nodiscard]] std::vector<std::pair<std::string, int>> CountStates(const ResultsView& view);
// Slots of the newest run, as far as the journal tells; at least 1.
[[nodiscard]] int CountSlots(const ResultsView& view);
// `costs`: measured on machines like those that run the sweep. `now_unix_seconds` 0: as of the newest event. `root`:
// what its other sweeps have charged; null: nobody looked.
[[nodiscard]] SweepStatus ComputeStatus(const ResultsView& view, const CostModel& costs = {},
                                        double now_unix_seconds = 0, const RootCharges* root = nullptr);
// The same in its two halves. Of a sweep that nobody runs, the first does not depend on the time, and the second looks
// at no trial of `view`.
[[nodiscard]] TrialsStatus ComputeTrialsStatus(const ResultsView& view, const CostModel& costs = {},
                                               double now_unix_seconds = 0, const RootCharges* root = nullptr);
[[nodiscard]] SweepStatus MakeSweepStatus(const ResultsView& view, TrialsStatus trials, const CostModel& costs = {},
                                          double now_unix_seconds = 0);

}  // namespace retort::orchestrator
