#include "orchestrator/service/archive_import.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <system_error>
#include <utility>

#include "orchestrator/core/core.h"
#include "orchestrator/journal/folder_lock.h"
#include "orchestrator/journal/journal.h"
#include "orchestrator/journal/recovery.h"
#include "orchestrator/results/audit_store.h"
#include "orchestrator/results/verify.h"
#include "orchestrator/service/publication.h"
#include "storage/files/path_status.h"
#include "storage/log/privacy_ledger.h"

namespace retort::orchestrator {
namespace {

namespace fs = std::filesystem;

Status CheckEmpty(storage::Env& env, const std::string& results) {
  RETORT_ASSIGN_OR_RETURN(const bool there, storage::PathExists(env, results));
  if (!there) return {};
  RETORT_ASSIGN_OR_RETURN(const bool folder, storage::IsFolder(env, results));
  if (!folder) return UsageError(results + " is a file: name a folder that does not exist yet.");
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> names, env.List(results));
  if (names.empty()) return {};
  return UsageError(results + " holds " + names.front() + " already: name a folder that does not exist yet.");
}

// What stands in a file that others may have written leads to no place outside the folder.
Status CheckPath(const std::string& path) {
  const fs::path relative(path);
  for (const fs::path& part : relative)
    if (part == ".." || relative.is_absolute())
      return DamageError("The archive names a path outside its folder: " + path);
  if (!path.starts_with("trials/") || !path.ends_with("/attempt.h5"))
    return DamageError("The archive names " + path + " where an attempt.h5 belongs.");
  return {};
}

Status FillLedger(storage::PrivacyLedger& ledger, const std::vector<storage::LedgerEntry>& entries) {
  for (const storage::LedgerEntry& entry : entries) {
    RETORT_ASSIGN_OR_RETURN(const std::uint64_t id,
                            ledger.Reserve(entry.data_digest, entry.attempt, entry.generation, entry.event));
    if (entry.state == storage::LedgerState::settled) RETORT_RETURN_IF_ERROR(ledger.Settle(id, entry.used));
  }
  return {};
}

Status WriteAttempts(storage::Env& env, const RowArchive& archive, const std::string& results) {
  for (const ArchivedAttempt& attempt : archive.attempts) {
    RETORT_RETURN_IF_ERROR(CheckPath(attempt.path));
    const std::string path = results + "/" + attempt.path;
    RETORT_RETURN_IF_ERROR(env.CreateDirectories(fs::path(path).parent_path()));
    RETORT_RETURN_IF_ERROR(storage::WriteAttemptFile(env, path, attempt.file));
  }
  return {};
}

// What was found of rows after they were written.
Status StoreFindings(storage::Env& env, const RowArchive& archive, const std::string& results) {
  RETORT_ASSIGN_OR_RETURN(const ResultsView view, ReadResults(env, results, Plans::every));
  for (const privacy::AuditReport& report : archive.audits)
    for (const TrialView& trial : view.trials)
      if (trial.row && trial.row->trial == report.trial && trial.row->row_digest == report.row_digest)
        RETORT_RETURN_IF_ERROR(StoreAudit(env, results, trial, report.findings).status());
  for (const auto& [id, synthetic] : archive.synthetic)
    for (const TrialView& trial : view.trials)
      if (trial.row && trial.row->trial == id) RETORT_RETURN_IF_ERROR(StoreSynthetic(env, results, trial, synthetic));
  return {};
}

Status Fill(storage::Env& env, const RowArchive& archive, const std::string& results) {
  RETORT_ASSIGN_OR_RETURN(Recovered recovered, RecoverResults(env, {.results = results, .provenance_json = "{}"}));
  RETORT_RETURN_IF_ERROR(FillLedger(*recovered.ledger, archive.ledger));
  for (const JournalEvent& event : archive.events) RETORT_RETURN_IF_ERROR(recovered.core.Apply(event));
  RETORT_RETURN_IF_ERROR(recovered.core.CheckInvariants());
  RETORT_RETURN_IF_ERROR(recovered.journal.Commit(archive.events));
  RETORT_RETURN_IF_ERROR(WriteAttempts(env, archive, results));
  RETORT_RETURN_IF_ERROR(env.WriteFileAtomically(results + "/sweep.toml", archive.sweep_toml));
  return {};
}

// Rows that contradict their digest or the ledger are found as `retort verify` finds them.
Status CheckWhole(storage::Env& env, const std::string& results) {
  const VerifyReport report = Verify(env, results);
  if (!report.other_version.ok()) return report.other_version;
  if (report.damage.empty()) return {};
  const Damage& first = report.damage.front();
  return DamageError("The archive contradicts itself: " + first.where + ": " + first.what + ".");
}

// Under the folder's lock.
Status Locked(storage::Env& env, const std::string& results, const std::function<Status()>& work) {
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<storage::FileLock> lock, LockFolder(env, results));
  return work();
}

Status Make(storage::Env& env, const RowArchive& archive, const std::string& results) {
  const Status filled = Locked(env, results, [&] {
    const Status status = Fill(env, archive, results);
    return status.ok() ? RepublishResults(env, results) : status;
  });
  RETORT_RETURN_IF_ERROR(filled);
  RETORT_RETURN_IF_ERROR(CheckWhole(env, results));
  if (archive.audits.empty() && archive.synthetic.empty()) return {};
  RETORT_RETURN_IF_ERROR(StoreFindings(env, archive, results));
  return Locked(env, results, [&] { return RepublishResults(env, results); });
}

}  // namespace

Status ImportArchive(storage::Env& env, const RowArchive& archive, const std::string& results) {
  RETORT_RETURN_IF_ERROR(CheckEmpty(env, results));
  const Status made = Make(env, archive, results);
  if (made.ok()) return made;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(results, ignored)) fs::remove_all(entry.path(), ignored);
  fs::remove(results, ignored);
  return made;
}

}  // namespace retort::orchestrator
