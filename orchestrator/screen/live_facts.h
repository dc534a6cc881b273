// Figures about a run that are shown and not kept in the core: the time that is left, what each data set has cost, step
// rates, recent failures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/ids.h"
#include "orchestrator/core/core.h"
#include "orchestrator/core/events.h"
#include "orchestrator/results/spending.h"
#include "orchestrator/results/sweep_estimate.h"
#include "orchestrator/screen/live_layout.h"
#include "storage/files/env.h"

namespace retort::orchestrator {

// Estimates the time that is left from what has been measured so far, on the devices that there are now. Returns
// nothing while a cost is unknown, and where more than `most` trials are left: `retort status` takes the time for
// those.
[[nodiscard]] std::optional<SweepEstimate> EstimateRun(const Core& core, Now now, std::size_t most);

// Keeps an estimate and renews it, so rarely that this takes hardly any of the orchestrator's time.
class LiveEstimate {
 public:
  static constexpr double kPauseSeconds = 5;
  static constexpr double kPauseFactor = 200;  // times what the last one took
  static constexpr std::size_t kMaxTrials = 5'000;

  [[nodiscard]] const std::optional<SweepEstimate>& Of(const Core& core, Now now);

 private:
  std::optional<SweepEstimate> newest_;
  double next_ = 0;  // monotonic
};

// Spending of each private data set.

// Returns what ComputeSpending (spending.h) needs to know of a run. Borrows `core`.
[[nodiscard]] SpendingFacts MakeSpendingFacts(const Core& core);

// Keeps the spending and renews it when a charge or an audit has changed, so rarely that this takes hardly any of the
// orchestrator's time.
class LiveSpending {
 public:
  static constexpr double kPauseSeconds = 5;
  static constexpr double kPauseFactor = 200;  // times what the last one took

  [[nodiscard]] const std::vector<DataSpending>& Of(const Core& core, Now now);

 private:
  std::vector<DataSpending> newest_;
  std::optional<std::uint64_t> version_;        // of the charges that it belongs to
  std::map<TrialId, std::string> audit_voids_;  // likewise
  double next_ = 0;                             // monotonic
};

// All figures of the live view.

struct LiveFacts {
  std::optional<SweepEstimate> left;
  std::vector<DataSpending> spent;             // SelectShownSpending
  std::map<TrialId, double> steps_per_second;  // of running trials that have made two steps
  double trials_per_hour = 0;                  // ended for good in this run, in the last hour; 0 = none yet
  std::optional<std::uint64_t> free_bytes;     // of the results folder's file system
  std::deque<TrialId> failed;                  // for good, newest first; some may have been tried again since
};

// How fast each running trial makes steps, over the last minute.
class StepRates {
 public:
  // Notes how far the active attempts are. Call it often.
  void Look(const Core& core, double monotonic);
  [[nodiscard]] std::map<TrialId, double> PerSecond(double monotonic) const;

 private:
  struct Track {
    Generation generation;
    std::deque<std::pair<double, std::int64_t>> steps;  // (monotonic, step) when it changed
  };
  std::map<TrialId, Track> tracks_;
};

// Keeps the facts of a run, at a cost that does not grow with the number of trials but at its first look.
class LiveWatch {
 public:
  static constexpr std::size_t kFailuresKept = 16;
  static constexpr double kDiskSeconds = 10;

  // `env` may be null: nothing is known of the disk then. Borrowed.
  explicit LiveWatch(storage::Env* env = nullptr) : env_(env) {}
  // After events were journaled.
  void Events(const std::vector<JournalEvent>& events);
  // The facts as of now.
  [[nodiscard]] const LiveFacts& Look(const Core& core, Now now);

 private:
  void FindOldFailures(const Core& core);
  void LookAtDisk(const Core& core, Now now);
  void CountEnds(const Core& core, Now now);
  storage::Env* env_;
  LiveFacts facts_;
  LiveEstimate estimate_;
  LiveSpending spending_;
  StepRates rates_;
  std::deque<std::pair<double, std::size_t>> ends_;  // (monotonic, trials done), at most one a minute
  bool looked_ = false;
  double next_disk_ = 0;  // monotonic
};

}  // namespace retort::orchestrator
