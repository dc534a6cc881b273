// The state of an earlier attempt of a trial from which the next one goes on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "storage/files/env.h"
#include "storage/log/checkpoint_manifest.h"
#include "storage/results/checkpoint_store.h"
#include "storage/results/hdf5_conventions.h"

namespace retort::storage {

struct EarlierState {
  std::uint32_t from = 0;                         // the attempt; 0 = nothing to go on from
  std::optional<CommittedCheckpoint> checkpoint;  // absent: from the beginning of the trial
  std::string bytes;                              // of the checkpoint's file
  std::vector<TranscriptRecord> transcript;       // continues the checkpoint, or the beginning
  Curves curves;
};

[[nodiscard]] std::string AttemptDirectory(const std::string& trial_directory, std::uint32_t attempt);
// Attempts below `attempt` that have a folder, newest first.
[[nodiscard]] Result<std::vector<std::uint32_t>> ListEarlierAttempts(Env& env, const std::string& trial_directory,
                                                                     std::uint32_t attempt);

// Finds the newest attempt below `attempt` that has a committed checkpoint whose digest holds, the newest such
// checkpoint of it, and what was released since, as far as that was kept without a gap: by a later attempt that had
// begun from this very checkpoint and lost it, or by this one. Where no attempt has a checkpoint, finds the newest
// transcript that begins at step 0. Damaged attempts are skipped. Error: environment.
[[nodiscard]] Result<EarlierState> FindEarlierState(Env& env, const std::string& trial_directory,
                                                    std::uint32_t attempt);

}  // namespace retort::storage
