// What trials have cost on this kind of machine: measured while a sweep runs, as text, and as a file in the user's
// cache folder that is kept across sweeps.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"
#include "orchestrator/core/core.h"
#include "orchestrator/core/cost_model.h"
#include "storage/files/env.h"

namespace retort::orchestrator {

using MachineCosts = std::map<std::string, CostModel>;  // by FindMachineKind (environment.h)

// One JSON document.
[[nodiscard]] std::string EncodeCosts(const MachineCosts& costs);
// Error: damage, for what EncodeCosts of this version did not write.
[[nodiscard]] Result<MachineCosts> DecodeCosts(std::string_view text);

// The file of measured costs in the user's cache folder.
struct CostCache {
  std::string path;     // of the file; empty = there is no cache folder, and nothing is kept
  std::string machine;  // FindMachineKind of this host
  CostModel costs;      // measured on such machines
  std::string warning;  // why an existing file is left out; empty when it was read or is not there
};

// Reads the cache of the user. `environment`: as this process was started with.
[[nodiscard]] CostCache OpenCostCache(storage::Env& env, const std::vector<std::string>& environment);
// Adds `costs` to what the file holds by now, in place by rename. A cache that another process is writing is
// left to it. Error: environment; what was there is unharmed.
[[nodiscard]] Status SaveCosts(storage::Env& env, const CostCache& cache, const CostModel& costs);

// Measures what the trials of a run cost, and keeps it for the next sweep.
class CostRecorder {
 public:
  static constexpr double kSavePauseSeconds = 30;

  // `host`: GetHostKey of this host. Trials of other hosts count for this run alone: their machines may be of another
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
