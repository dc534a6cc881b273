// Resumable state of one attempt. Files in ATTEMPT/: checkpoint-<step>.h5, manifest.log,
// transcript-<step>.log, series.log. A checkpoint exists when its manifest record does. The newest are kept;
// a damaged newest one gives way to the one before it, from which what was released since goes on. Not thread-safe; a
// thread of its own writes the transcript.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "storage/files/env.h"
#include "storage/formats/tensor_blob.h"
#include "storage/log/attempt_logs.h"
#include "storage/log/checkpoint_manifest.h"
#include "storage/log/record_log.h"
#include "storage/log/transcript_writer.h"
#include "storage/results/hdf5_conventions.h"

namespace retort::storage {

struct Checkpoint {
  std::int64_t step = 0;            // completed steps
  std::vector<TensorBlob> tensors;  // parameters, optimiser, RNG streams, transfer set
  // Cursor, schedule, ledger position, gang size. No NUL bytes.
  std::map<std::string, std::string> attributes;
};

inline constexpr std::size_t kKeptCheckpoints = 2;

class CheckpointStore {
 public:
  ~CheckpointStore();
  // Creates the attempt folder. If an earlier attempt-<m> (m < this one) of the trial holds a committed
  // checkpoint, the newest such attempt's checkpoint, transcript and series are imported first, so that
  // the new folder stands alone; its manifest record is written last. `kept` (at least 1) newest checkpoints
  // stay; of one alone, damage means beginning anew.
  [[nodiscard]] static Result<std::unique_ptr<CheckpointStore>> Open(Env& env, const std::string& trial_directory,
                                                                     std::uint32_t attempt,
                                                                     std::size_t kept = kKeptCheckpoints,
                                                                     const TranscriptLimits& limits = {});
  // Returns the newest committed checkpoint whose digest holds; nothing when there is none.
  [[nodiscard]] Result<std::optional<Checkpoint>> Latest();
  // Releases recorded after Latest(), in order; without a checkpoint, all since step 0 (of an earlier attempt that
  // committed none, too). The caller replays them and does not append them again.
  [[nodiscard]] Result<std::vector<TranscriptRecord>> Transcript();

  // Appended and synced, with all that was queued before, when it returns. A step below that of the
  // last record voids the records from that step on (the work was done afresh). Error: refused for a step
  // that the newest checkpoint covers.
  [[nodiscard]] Status AppendReleased(const TranscriptRecord& record);
  // The same without waiting: `make` gives the record, of about so many bytes, on the writer's thread. Whatever depends
  // on it stays in the process until AwaitReleased has returned; what this class writes waits by itself. Errors: as
  // above; of the writer.
  [[nodiscard]] Status QueueReleased(std::int64_t step, std::size_t bytes, TranscriptWriter::MakeRecord make);
  // Returns when all that was queued is durable. Error: environment.
  [[nodiscard]] Status AwaitReleased();
  // Why nothing more is taken; ok otherwise. Does not wait.
  [[nodiscard]] Status released_status() const { return transcript_->status(); }
  // Points of the curves; buffered until the next Commit or FlushSeries.
  void AppendSeries(std::int64_t step, const std::vector<std::pair<std::string, double>>& values);
  [[nodiscard]] Status FlushSeries();
  // Temporary file, fsync, rename, fsync folder, manifest record; then the checkpoints beyond those kept are removed,
  // and what was released before the oldest that stays. Returns the SHA-256 hex of the checkpoint file's bytes. Error:
  // refused when the step is below the last one's; environment, with nothing written, when the disk has no
  // room.
  [[nodiscard]] Result<std::string> Commit(const Checkpoint& checkpoint);
  // Curves as recorded, points past the resumed step dropped and overwritten.
  [[nodiscard]] Result<std::map<std::string, std::vector<std::pair<std::int64_t, double>>>> Series();
  // After attempt.h5 is published: removes the checkpoints of this and earlier attempts of the trial,
  // their manifest records first.
  [[nodiscard]] Status RemoveCheckpoints();
  [[nodiscard]] const std::string& directory() const { return directory_; }

 private:
  CheckpointStore(Env& env, std::string directory, std::size_t kept, const TranscriptLimits& limits);
  [[nodiscard]] Status Begin();
  [[nodiscard]] Status Recover(bool finished);
  [[nodiscard]] Status RemoveOrphans();
  [[nodiscard]] Status RemoveCheckpointsIn(const std::string& directory);  // an earlier attempt's
  [[nodiscard]] Status RemoveLive(RecordLog& manifest, const std::string& directory,
                                  const std::vector<CommittedCheckpoint>& live);
  void StartTranscript(std::unique_ptr<TranscriptLog> log);
  [[nodiscard]] Status CheckReleasedStep(std::int64_t step) const;
  [[nodiscard]] std::int64_t CompletedSteps() const;
  [[nodiscard]] Result<bool> IsCommitted(const Checkpoint& checkpoint);
  [[nodiscard]] std::string NewName(std::int64_t step) const;
  [[nodiscard]] std::string Path(const std::string& name) const { return directory_ + "/" + name; }

  Env& env_;
  std::string directory_, trial_directory_;
  std::uint32_t attempt_ = 0;
  std::size_t kept_;
  TranscriptLimits limits_;
  std::unique_ptr<RecordLog> manifest_, series_;
  std::unique_ptr<TranscriptWriter> transcript_;
  std::vector<CommittedCheckpoint> live_;  // oldest first
};

// A checkpoint as the bytes of checkpoint-<step>.h5.

// Publishes the file by rename. Equal checkpoints give equal bytes. Returns the SHA-256 hex of the bytes.
// Error: environment; refused for what HDF5 cannot hold.
[[nodiscard]] Result<std::string> WriteCheckpoint(Env& env, const std::string& path, const Checkpoint& checkpoint);
// Error: damage, or usage for another format version.
[[nodiscard]] Result<Checkpoint> DecodeCheckpoint(std::string_view bytes, const std::string& name);

// The state of an earlier attempt of a trial from which the next one goes on.

struct EarlierState {
  std::uint32_t from = 0;                         // the attempt; 0 = nothing to go on from
  std::optional<CommittedCheckpoint> checkpoint;  // absent: from the beginning of the trial
  std::string bytes;                              // of the checkpoint's file
  std::vector<TranscriptRecord> transcript;       // continues the checkpoint, or the beginning
  Curves curves;
};

[[nodiscard]] std::string GetAttemptDirectory(const std::string& trial_directory, std::uint32_t attempt);
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
