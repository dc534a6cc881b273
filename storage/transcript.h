// What an attempt released since the oldest of its checkpoints: a record log for each stretch between two commits.
// transcript-<base>.log goes on from the checkpoint of <base> completed steps, 0 = from the beginning; it is closed
// when a checkpoint covers all of it, and stays for as long as an older checkpoint may have to take that one's place.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/spec/status.h"
#include "storage/checkpoint_store.h"
#include "storage/env.h"
#include "storage/record_log.h"

namespace retort::storage {

// Of one attempt's folder, oldest first. `transcript.log` is what older versions wrote, one log emptied at each
// commit, which goes on from the newest checkpoint alone.
[[nodiscard]] bool IsTranscriptName(const std::string& name);
[[nodiscard]] Result<std::vector<std::string>> TranscriptNames(Env& env, const std::string& directory);

// The releases, in order, that go on from the checkpoint of `step` completed steps without a gap: up to the first log
// that is missing, damaged or not closed where the next one begins. `newest`: no later checkpoint was ever committed.
// Error: environment.
[[nodiscard]] Result<std::vector<TranscriptRecord>> ReadTranscript(Env& env, const std::string& directory,
                                                                   std::int64_t step, bool newest);

// Removes all logs but the newest.
[[nodiscard]] Status TrimTranscript(Env& env, const std::string& directory);

// The writer. Not thread-safe.
class TranscriptLog {
 public:
  // In the place of whatever is there: `records`, which go on from the checkpoint of `base` completed steps. Synced.
  [[nodiscard]] static Result<std::unique_ptr<TranscriptLog>> Begin(Env& env, const std::string& directory,
                                                                    std::int64_t base,
                                                                    const std::vector<TranscriptRecord>& records);
  // What goes on from the checkpoint of `step`, as ReadTranscript finds it; the rest, which continues what is gone,
  // is removed. Error: damage, for a log that would be gone on from.
  [[nodiscard]] static Result<std::unique_ptr<TranscriptLog>> Resume(Env& env, const std::string& directory,
                                                                     std::int64_t step, bool newest);

  // Synced before it returns.
  [[nodiscard]] Status Append(const TranscriptRecord& record);
  // A checkpoint of `step` completed steps is committed, and `oldest` is the oldest that stays. Nothing is closed while
  // there are releases that the checkpoint does not cover.
  [[nodiscard]] Status Committed(std::int64_t step, std::int64_t oldest);

 private:
  TranscriptLog(Env& env, std::string directory) : env_(env), directory_(std::move(directory)) {}
  [[nodiscard]] Status Open(std::int64_t base);
  [[nodiscard]] Status Prune(std::int64_t oldest);

  Env& env_;
  std::string directory_;
  std::unique_ptr<RecordLog> log_;  // the newest
  std::int64_t base_ = 0;           // of it
  std::int64_t end_ = 0;            // one past the newest step in it; 0 = it is empty
};

}  // namespace retort::storage
