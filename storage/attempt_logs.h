// The records of transcripts and series.log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/spec/status.h"
#include "storage/checkpoint_store.h"
#include "storage/curves.h"
#include "storage/record_log.h"

namespace retort::storage {

// A transcript record of step s belongs to the work done in step s; a checkpoint counts completed
// steps. So records with step < checkpoint.step are covered by it and dropped on reading.
void AppendTranscript(RecordLog& transcript, const TranscriptRecord& record);
// The log holds every release of the steps below `end`, and takes no more: another one goes on from there.
void AppendClosed(RecordLog& transcript, std::int64_t end);

struct TranscriptPiece {
  std::vector<TranscriptRecord> records;  // as they were written
  std::optional<std::int64_t> end;        // where it was closed
};
// Error: damage, with the offset.
[[nodiscard]] Result<TranscriptPiece> DecodeTranscript(const LogContents& contents, const std::string& path);
// `written`, in one log or in several that follow each other, as ReplayTranscript gives it.
[[nodiscard]] std::vector<TranscriptRecord> Effective(std::vector<TranscriptRecord> written,
                                                      std::int64_t first_step);
// In order, from `first_step` on. A record whose step is below its predecessor's means that the
// attempt went back and drew afresh: it replaces every earlier record of its step and later ones.
[[nodiscard]] Result<std::vector<TranscriptRecord>> ReplayTranscript(const LogContents& contents,
                                                                     std::int64_t first_step,
                                                                     const std::string& path);

void AppendPoints(RecordLog& series, std::int64_t step,
                  const std::vector<std::pair<std::string, double>>& values);
// Points with a step above `step` are void from here on.
void AppendRewind(RecordLog& series, std::int64_t step);
// Later points of the same curve and step replace earlier ones.
[[nodiscard]] Result<Curves> ReplaySeries(const LogContents& contents, const std::string& path);
// All points of `curves`, by step.
void AppendCurves(RecordLog& series, const Curves& curves, std::int64_t last_step);

}  // namespace retort::storage
