// What an earlier attempt of a trial left for the next one to go on from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/spec/status.h"
#include "storage/checkpoint_manifest.h"
#include "storage/checkpoint_store.h"
#include "storage/curves.h"
#include "storage/env.h"

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
[[nodiscard]] Result<std::vector<std::uint32_t>> EarlierAttempts(Env& env, const std::string& trial_directory,
                                                                 std::uint32_t attempt);

// The newest attempt below `attempt` with a committed checkpoint whose digest holds, the newest such checkpoint of it,
// and what was released since, as far as it was kept without a gap: by a later attempt that had begun from this very
// checkpoint and lost it, or by this one. Without any checkpoint in any attempt: the newest transcript that continues
// the beginning. Damaged attempts are passed over. Error: environment.
[[nodiscard]] Result<EarlierState> FindEarlierState(Env& env, const std::string& trial_directory,
                                                    std::uint32_t attempt);

}  // namespace retort::storage
