#include "orchestrator/journal.h"

#include <utility>
#include <variant>

namespace retort::orchestrator {

std::string JournalPath(const std::string& results) { return results + "/journal.log"; }
std::string LedgerPath(const std::string& results) { return results + "/ledger.log"; }
std::string LockPath(const std::string& results) { return results + "/lock"; }

Status ReplayRecord(const storage::Record& record, JournalCodec& codec, Core& core) {
  Result<JournalRecord> decoded = codec.Decode(record.type, record.payload);
  if (!decoded.ok()) return decoded.status();
  if (auto* packed = std::get_if<PackedRow>(&*decoded))
    return core.Restore(packed->trial, std::move(packed->row));
  return core.Apply(std::get<JournalEvent>(*decoded));
}

Status ReplayJournal(const storage::LogContents& contents, JournalCodec& codec, Core& core) {
  for (const storage::Record& record : contents.records) {
    const Status status = ReplayRecord(record, codec, core);
    if (!status.ok())
      return {status.code(), status.message() + " (record at offset " + std::to_string(record.offset) + ")"};
  }
  return {};
}

Result<Journal> Journal::Open(storage::Env& env, const std::string& results, Core& core) {
  storage::LogContents contents;
  RETORT_ASSIGN_OR_RETURN(
      std::unique_ptr<storage::RecordLog> log,
      storage::RecordLog::Open(env, JournalPath(results), storage::LogKind::journal, &contents));
  JournalCodec codec;
  RETORT_RETURN_IF_ERROR(ReplayJournal(contents, codec, core));
  return Journal(std::move(log), std::move(codec));
}

Status Journal::Commit(const std::vector<JournalEvent>& events) {
  if (events.empty()) return {};
  for (const JournalEvent& event : events)
    log_->Append(static_cast<std::uint16_t>(TypeOf(event.event)), codec_.Encode(event));
  return log_->Sync();
}

}  // namespace retort::orchestrator
