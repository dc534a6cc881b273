#include "orchestrator/journal.h"

#include <utility>

namespace retort::orchestrator {

std::string JournalPath(const std::string& results) { return results + "/journal.log"; }
std::string LedgerPath(const std::string& results) { return results + "/ledger.log"; }
std::string LockPath(const std::string& results) { return results + "/lock"; }

Status ReplayJournal(const storage::LogContents& contents, Core& core) {
  for (const storage::Record& record : contents.records) {
    Result<JournalEvent> event = DecodeEvent(record.type, record.payload);
    const Status status = event.ok() ? core.Apply(*event) : event.status();
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
  RETORT_RETURN_IF_ERROR(ReplayJournal(contents, core));
  return Journal(std::move(log));
}

Status Journal::Commit(const std::vector<JournalEvent>& events) {
  if (events.empty()) return {};
  for (const JournalEvent& event : events)
    log_->Append(static_cast<std::uint16_t>(TypeOf(event.event)), EncodeEvent(event));
  return log_->Sync();
}

}  // namespace retort::orchestrator
