// The journal of a results folder: events in, events out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/spec/status.h"
#include "orchestrator/core.h"
#include "orchestrator/events.h"
#include "orchestrator/journal_codec.h"
#include "storage/env.h"
#include "storage/record_log.h"

namespace retort::orchestrator {

[[nodiscard]] std::string JournalPath(const std::string& results);
[[nodiscard]] std::string LedgerPath(const std::string& results);
[[nodiscard]] std::string LockPath(const std::string& results);

// The next record of a journal. Error: as below, without the offset.
[[nodiscard]] Status ReplayRecord(const storage::Record& record, JournalCodec& codec, Core& core);
// Applies every record to a new core; `codec` is new, too, and can go on with the journal then. Error: damage
// with the offset; usage for a folder of another format version.
[[nodiscard]] Status ReplayJournal(const storage::LogContents& contents, JournalCodec& codec, Core& core);

// The one writer, held by the owner of the folder's lock.
class Journal {
 public:
  // Recovers what is there into `core` (new) and cuts a torn tail.
  [[nodiscard]] static Result<Journal> Open(storage::Env& env, const std::string& results, Core& core);
  // Durable when it returns. After an error nothing more can be written.
  [[nodiscard]] Status Commit(const std::vector<JournalEvent>& events);
  [[nodiscard]] std::uint64_t bytes() const { return log_->size(); }

 private:
  Journal(std::unique_ptr<storage::RecordLog> log, JournalCodec codec)
      : log_(std::move(log)), codec_(std::move(codec)) {}
  std::unique_ptr<storage::RecordLog> log_;
  JournalCodec codec_;
};

}  // namespace retort::orchestrator
