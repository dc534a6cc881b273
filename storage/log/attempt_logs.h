// What an attempt writes down while it runs: curves in series.log, and in the transcript what it released since the
// oldest of its checkpoints: a record log for each stretch between two commits. transcript-<base>.log goes on from the
// checkpoint of <base> completed steps, 0 = from the beginning; it is closed when a checkpoint covers all of it, and
// stays for as long as an older checkpoint may have to take that one's place.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "storage/files/env.h"
#include "storage/formats/tensor_blob.h"
#include "storage/log/record_log.h"

namespace retort::storage {

// A released answer. Payloads are the worker's own bytes. A record of step
// s belongs to the work done in step s: a checkpoint of s + 1 or more completed steps covers it.
struct TranscriptRecord {
  std::int64_t step = 0;
  std::vector<TensorBlob> released;
};

// Points (step, value) of each curve; steps are >= 0 and ascend.
using Curves = std::map<std::string, std::vector<std::pair<std::int64_t, double>>>;

// Returns the records of a transcript in order, from `first_step` on. A record whose step is below that of the one
// before means that the attempt went back and drew again: it replaces every earlier record of its step and of later
// steps.
[[nodiscard]] Result<std::vector<TranscriptRecord>> ReplayTranscript(const LogContents& contents,
                                                                     std::int64_t first_step, const std::string& path);

void AppendPoints(RecordLog& series, std::int64_t step, const std::vector<std::pair<std::string, double>>& values);
// Records that points with a step above `step` no longer count.
void AppendRewind(RecordLog& series, std::int64_t step);
// Returns the curves that the log holds; later points of the same curve and step replace earlier ones.
[[nodiscard]] Result<Curves> ReplaySeries(const LogContents& contents, const std::string& path);
// Appends all points of `curves` up to `last_step`, by step.
void AppendCurves(RecordLog& series, const Curves& curves, std::int64_t last_step);

[[nodiscard]] bool IsTranscriptName(const std::string& name);
// The names of the transcripts in an attempt's folder, oldest first. `transcript.log` is what older versions wrote: one
// log, emptied at each commit, which goes on from the newest checkpoint.
[[nodiscard]] Result<std::vector<std::string>> ListTranscriptLogs(Env& env, const std::string& directory);

// Returns the releases, in order, that continue the checkpoint of `step` completed steps without a gap: up to the first
// log that is missing, damaged or not closed where the next one begins. `newest`: no later checkpoint was ever
// committed. Error: environment.
[[nodiscard]] Result<std::vector<TranscriptRecord>> ReadTranscript(Env& env, const std::string& directory,
                                                                   std::int64_t step, bool newest);

// Removes all transcripts but the newest.
[[nodiscard]] Status TrimTranscript(Env& env, const std::string& directory);

// Writes an attempt's transcript. Not thread-safe: transcript_writer.h writes it from a thread.
class TranscriptLog {
 public:
  // Replaces whatever transcripts are there by one with `records`, which continue the checkpoint of `base` completed
  // steps. Synced before it returns.
  [[nodiscard]] static Result<std::unique_ptr<TranscriptLog>> Begin(Env& env, const std::string& directory,
                                                                    std::int64_t base,
                                                                    const std::vector<TranscriptRecord>& records);
  // Goes on with the transcript that continues the checkpoint of `step`, as ReadTranscript finds it, and removes the
  // others, which continue a checkpoint that is lost. Error: damage, for a log that would have to be continued.
  [[nodiscard]] static Result<std::unique_ptr<TranscriptLog>> Resume(Env& env, const std::string& directory,
                                                                     std::int64_t step, bool newest);

  // Appends all of them, in order, and syncs once before it returns.
  [[nodiscard]] Status Append(const std::vector<TranscriptRecord>& records);
  // Call after a checkpoint of `step` completed steps is committed; `oldest` is the step of the oldest that stays.
  // Closes the log unless there are releases that the checkpoint does not cover, and removes logs that no checkpoint
  // needs.
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
