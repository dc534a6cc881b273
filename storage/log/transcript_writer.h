// Writes an attempt's transcript from a thread of its own. Whoever hands a release over goes on at once, and waits only
// where something that depends on it is about to leave the process.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "experiments/base/status.h"
#include "storage/log/attempt_logs.h"

namespace retort::storage {

struct TranscriptLimits {
  // Most that is handed over and not yet durable; one record that is larger is taken alone.
  std::size_t bytes = std::size_t{64} << 20;
  // A record waits so long for others to share its sync, unless somebody waits for it.
  std::chrono::milliseconds gathering{20};
  // Longest wait for the disk; then it counts as failed.
  std::chrono::milliseconds patience{300'000};
};

// For one thread, which hands over; its own thread only writes. What is durable is always a beginning of what was
// handed over. After an error nothing more is written, and every later call returns it.
class TranscriptWriter {
 public:
  // Called once, on the writer's thread: what the record is made of may still be on its way from a device. Throws
  // nothing but std::bad_alloc.
  using MakeRecord = std::function<Result<TranscriptRecord>()>;

  explicit TranscriptWriter(std::unique_ptr<TranscriptLog> log, const TranscriptLimits& limits = {});
  // Writes what was handed over, for as long as its patience lasts; a thread that hangs on its disk is left behind.
  ~TranscriptWriter();
  TranscriptWriter(const TranscriptWriter&) = delete;
  TranscriptWriter& operator=(const TranscriptWriter&) = delete;

  // Hands over a record of about so many bytes. Waits where the limit is reached, and for nothing else.
  [[nodiscard]] Status Queue(std::size_t bytes, MakeRecord make);
  // Returns when all that was handed over is durable.
  [[nodiscard]] Status Await();
  // Returns when all that was handed over, and `record` after it, is durable.
  [[nodiscard]] Status Append(const TranscriptRecord& record);
  // As TranscriptLog::Committed, after Await.
  [[nodiscard]] Status Committed(std::int64_t step, std::int64_t oldest);
  // Why nothing more is written; ok otherwise. Does not wait.
  [[nodiscard]] Status status() const;

 private:
  struct Shared;
  static void Write(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;  // with a thread that was left behind
  std::thread thread_;              // runs from the first Queue on
};

}  // namespace retort::storage
