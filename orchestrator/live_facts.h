// What a live view shows and the core does not hold: how fast trials go, what they cost, what failed lately.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "experiments/spec/ids.h"
#include "orchestrator/core.h"
#include "orchestrator/events.h"
#include "orchestrator/live_estimate.h"
#include "orchestrator/live_layout.h"
#include "orchestrator/live_spending.h"
#include "storage/env.h"

namespace retort::orchestrator {

struct LiveFacts {
  std::optional<SweepEstimate> left;
  std::vector<DataSpending> spent;  // ShownSpending
  std::map<TrialId, double> steps_per_second;  // of running trials that have made two steps
  double trials_per_hour = 0;                  // ended for good in this run, in the last hour; 0 = none yet
  std::optional<std::uint64_t> free_bytes;     // of the results folder's file system
  std::deque<TrialId> failed;                  // for good, newest first; some may have been tried again since
};

// How fast each running trial makes steps, over the last minute.
class StepRates {
 public:
  // Looks at what runs, often.
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
