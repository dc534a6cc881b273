// The journal of a results folder. The few kinds of events that come with every trial are stored packed, so that a long
// journal is read fast; the others are stored as the JSON of events.h. Bytes: storage/FORMAT.md, section "journal".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/spec_codec.h"
#include "orchestrator/core/core.h"
#include "orchestrator/core/events.h"
#include "orchestrator/core/trial.h"
#include "storage/files/env.h"
#include "storage/log/delta_text.h"
#include "storage/log/record_log.h"

namespace retort::orchestrator {

// A row_written whose row stays packed until it is asked for.
struct PackedRow {
  TrialId trial;
  StoredRow row;
};

using JournalRecord = std::variant<JournalEvent, PackedRow>;

// Encodes and decodes the records of one journal. Records refer to earlier ones, so a codec starts with the first
// record: first it decodes what is there, then it encodes what is appended.
class JournalCodec {
 public:
  [[nodiscard]] std::string Encode(const JournalEvent& event);
  // Packed or JSON, as found. Error: damage, naming the event; usage for a type that this version does not
  // know.
  [[nodiscard]] Result<JournalRecord> Decode(std::uint16_t type, std::string_view payload);

 private:
  class Unpacking;
  std::shared_ptr<storage::DeltaTextTable> texts_ = std::make_shared<storage::DeltaTextTable>();
  TrialSpecReader specs_;
};

// Paths in a results folder.

[[nodiscard]] std::string GetJournalPath(const std::string& results);
[[nodiscard]] std::string GetLedgerPath(const std::string& results);
[[nodiscard]] std::string LockPath(const std::string& results);

// Applies the next record of a journal. Error: as ReplayJournal, without the offset.
[[nodiscard]] Status ReplayRecord(const storage::Record& record, JournalCodec& codec, Core& core);
// Applies every record to a new core; `codec` is new, too, and can go on with the journal then. Error: damage
// with the offset; usage for a folder of another format version.
[[nodiscard]] Status ReplayJournal(const storage::LogContents& contents, JournalCodec& codec, Core& core);

// The only writer of a journal. REQUIRES: the caller holds the folder's lock.
class Journal {
 public:
  // Recovers what is there into `core` (new) and cuts a torn tail.
  [[nodiscard]] static Result<Journal> Open(storage::Env& env, const std::string& results, Core& core);
  // Appends the events; they are durable when it returns. After an error nothing more can be written.
  [[nodiscard]] Status Commit(const std::vector<JournalEvent>& events);
  [[nodiscard]] std::uint64_t bytes() const { return log_->size(); }

 private:
  Journal(std::unique_ptr<storage::RecordLog> log, JournalCodec codec)
      : log_(std::move(log)), codec_(std::move(codec)) {}
  std::unique_ptr<storage::RecordLog> log_;
  JournalCodec codec_;
};

}  // namespace retort::orchestrator
