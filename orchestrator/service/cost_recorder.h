// Measures what the trials of a run cost, and keeps it for the next sweep.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "orchestrator/core/core.h"
#include "orchestrator/cost/cost_cache.h"
#include "storage/files/env.h"

namespace retort::orchestrator {

class CostRecorder {
 public:
  static constexpr double kSavePauseSeconds = 30;

  // `host`: HostKey of this host. Trials of other hosts count for this run alone: their machines may be of another
  // kind.
  CostRecorder(storage::Env& env, CostCache cache, std::string host);

  // Costs that earlier sweeps have measured on such a machine.
  [[nodiscard]] const CostModel& known() const { return cache_.costs; }
  [[nodiscard]] const std::string& warning() const { return cache_.warning; }
  // Takes events that were applied and are durable. Adds what they measure to `core.costs` at once, and to the file
  // when kSavePauseSeconds have passed. Returns an error message about a file that cannot be written, once.
  [[nodiscard]] std::string Events(Core& core, const std::vector<JournalEvent>& events, Now now);
  // Writes the file now. Returns as Events.
  [[nodiscard]] std::string Finish();

 private:
  void NoteCheckpoint(const Core& core, const CheckpointNoted& event);
  void NoteEnd(Core& core, const AttemptEnded& event, double unix_seconds);

  storage::Env& env_;
  CostCache cache_;
  std::string host_;
  CostModel fresh_;                             // measured in this run
  std::map<TrialId, double> checkpoint_bytes_;  // largest of each trial that is under way
  bool unsaved_ = false;
  bool complained_ = false;
  double next_save_ = 0;  // monotonic
};

}  // namespace retort::orchestrator
