// When trials began, got on and ended, by the journal: nothing else in a results folder says at what time a point of a
// curve was made.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "experiments/base/ids.h"
#include "experiments/base/status.h"
#include "storage/files/env.h"

namespace retort::orchestrator {

// Of the newest attempt. Unix seconds; 0 where the journal has no such event.
struct TrialTimes {
  double began = 0, ended = 0;
  std::vector<std::pair<std::int64_t, double>> notes;  // so many steps were complete by then; steps increase
};

// Of the trials in `wanted` that were ever started. Error: as ReadResults.
[[nodiscard]] Result<std::unordered_map<TrialId, TrialTimes>> ReadTrialTimes(storage::Env& env,
                                                                             const std::string& directory,
                                                                             const std::set<TrialId>& wanted);

// The time of the first event by which step `step` (counted from 0) was complete: a note of the journal, else the end
// of the attempt, else `otherwise`. Never before the attempt began, and never earlier for a later step.
[[nodiscard]] double FindTime(const TrialTimes& times, std::int64_t step, double otherwise);

}  // namespace retort::orchestrator
