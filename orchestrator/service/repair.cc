#include "orchestrator/service/repair.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "orchestrator/core/core.h"
#include "orchestrator/core/privacy_charges.h"
#include "orchestrator/journal/journal.h"
#include "orchestrator/journal/recovery.h"
#include "orchestrator/results/surroundings.h"
#include "orchestrator/service/publication.h"
#include "orchestrator/service/run_metrics.h"
#include "storage/files/path_status.h"
#include "storage/log/attempt_logs.h"
#include "storage/log/checkpoint_manifest.h"
#include "storage/log/privacy_ledger.h"
#include "storage/log/record_log.h"
#include "storage/results/attempt_file.h"
#include "storage/results/hdf5_reader.h"
#include "storage/results/result_file.h"

namespace retort::orchestrator {
namespace {

using storage::LogKind;
using storage::SalvagedLog;

class AttemptRepair {
 public:
  AttemptRepair(storage::Env& env, std::string directory, std::string attempt, const std::set<std::string>& referenced,
                const storage::TrialAccount* account, RepairPlan& plan)
      : env_(env),
        directory_(std::move(directory)),
        attempt_(std::move(attempt)),
        referenced_(referenced),
        account_(account),
        plan_(plan) {}

  Status Plan() {
    RETORT_ASSIGN_OR_RETURN(names_, env_.List(Path("")));
    RETORT_RETURN_IF_ERROR(PlanFile());
    RETORT_ASSIGN_OR_RETURN(const bool usable, PlanManifest());
    if (!usable) return {};
    for (const std::string& name : names_)
      if (storage::IsTranscriptName(name)) RETORT_RETURN_IF_ERROR(PlanLog(name, LogKind::transcript));
    RETORT_RETURN_IF_ERROR(PlanLog("series.log", LogKind::series));
    PlanOrphans();
    return {};
  }

 private:
  std::string Path(const std::string& name) const {
    return directory_ + "/" + attempt_ + (name.empty() ? "" : "/" + name);
  }
  bool Has(const std::string& name) const { return std::find(names_.begin(), names_.end(), name) != names_.end(); }
  void PlanMoveAside(const std::string& name, const std::string& what, const std::string& remedy) {
    plan_.items.push_back({attempt_ + "/" + name, what, remedy, RepairAction::move_aside, {}});
  }

  Status PlanFile() {
    if (!Has("attempt.h5")) return {};
    const Status sealed = storage::CheckSeal(env_, Path("attempt.h5"));
    if (sealed.code() == StatusCode::environment) return sealed;
    finished_ = sealed.ok();
    if (sealed.ok()) {
      PlanAccount();
      return {};
    }
    if (!referenced_.contains(attempt_ + "/attempt.h5")) {
      PlanMoveAside("attempt.h5", sealed.message(), "no row needs it; the trial goes on without it");
      return {};
    }
    plan_.items.push_back({attempt_ + "/attempt.h5",
                           sealed.message(),
                           "its trial's row stays as it is; restore the file from a copy",
                           RepairAction::none,
                           {}});
    return {};
  }

  // What cannot be read although its seal holds, or is of another trial, is for `retort verify` to name.
  void PlanAccount() {
    if (account_ == nullptr) return;
    const Result<storage::AttemptFile> file = storage::ReadAttemptFile(Path("attempt.h5"));
    if (!file.ok() || attempt_.find("-" + file->trial + "/") == std::string::npos) return;
    if (!storage::FindForgottenDraws(file->ledger, account_->charged).empty())
      plan_.items.push_back(
          {attempt_ + "/attempt.h5",
           "records more draws of noise than the ledger charges to its trial",
           "what the ledger lost cannot be told from it: restore ledger.log and journal.log from a newer copy",
           RepairAction::none,
           {},
           {}});
    if (!storage::NeedsRecount(*file, *account_)) return;
    plan_.items.push_back({attempt_ + "/attempt.h5",
                           "counts or claims other than the ledger and its trial's row",
                           "it gets the draws that it lacks and the row's claims; students that inherited its own get "
                           "those of their rows likewise",
                           RepairAction::rewrite,
                           {},
                           *account_});
  }

  // False when the whole attempt goes aside.
  Result<bool> PlanManifest() {
    if (!Has("manifest.log")) return true;
    RETORT_ASSIGN_OR_RETURN(const storage::SalvagedLog log,
                            storage::SalvageRecordLog(env_, Path("manifest.log"), LogKind::manifest));
    Result<storage::ManifestState> state = storage::ReplayManifest(log.contents, attempt_ + "/manifest.log");
    const Status damage = log.damage.ok() ? state.status() : log.damage;
    if (damage.ok()) {
      for (const storage::CommittedCheckpoint& checkpoint : state->live)
        RETORT_RETURN_IF_ERROR(PlanCheckpoint(checkpoint));
      return true;
    }
    if (finished_) {
      PlanMoveAside("manifest.log", damage.message(), "the attempt has finished and does not need it");
      return true;
    }
    // Without its manifest a checkpoint counts for nothing, and opening the folder would delete it.
    for (const std::string& name : names_)
      PlanMoveAside(name, name == "manifest.log" ? damage.message() : "belongs to an attempt whose manifest is damaged",
                    "the next attempt goes on from an earlier one, or from the beginning");
    return false;
  }

  Status PlanCheckpoint(const storage::CommittedCheckpoint& checkpoint) {
    live_.insert(checkpoint.file);
    RETORT_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, storage::ReadIfIntact(env_, Path(""), checkpoint));
    if (bytes) return {};
    if (Has(checkpoint.file))
      PlanMoveAside(checkpoint.file, "is not what its manifest recorded",
                    "the trial goes on from the checkpoint before it, or from the beginning");
    else
      plan_.notes.push_back(attempt_ + "/" + checkpoint.file +
                            " is gone: the trial goes on from the checkpoint before it, or from the beginning");
    return {};
  }

  Status PlanLog(const std::string& name, LogKind kind) {
    if (!Has(name)) return {};
    RETORT_ASSIGN_OR_RETURN(const storage::SalvagedLog log, storage::SalvageRecordLog(env_, Path(name), kind));
    const std::string where = attempt_ + "/" + name;
    const Status read = kind == LogKind::series ? storage::ReplaySeries(log.contents, where).status()
                                                : storage::ReplayTranscript(log.contents, 0, where).status();
    const Status damage = log.damage.ok() ? read : log.damage;
    if (!damage.ok())
      PlanMoveAside(name, damage.message(),
                    kind == LogKind::series ? "its curves begin anew"
                                            : "what was released since then is drawn and charged again");
    else if (log.lost_bytes > 0)
      plan_.notes.push_back(where + " ends in " + std::to_string(log.lost_bytes) +
                            " bytes of an unfinished record; the next writer cuts them");
    return {};
  }

  void PlanOrphans() {
    for (const std::string& name : names_) {
      const bool checkpoint = name.starts_with("checkpoint-") && !live_.contains(name);
      if (checkpoint || name.ends_with(storage::kTemporarySuffix))
        PlanMoveAside(name, "is referred to by nothing", "it was never finished, or was about to be removed");
    }
  }

  storage::Env& env_;
  const std::string directory_, attempt_;
  const std::set<std::string>& referenced_;
  const storage::TrialAccount* account_;
  RepairPlan& plan_;
  std::vector<std::string> names_;
  std::set<std::string> live_;
  bool finished_ = false;
};

// Adds what is wrong in `directory`/`attempt` ("trials/<name>-<id>/attempt-<n>"). `referenced`: the attempt files that
// rows name. `account`: of the attempt's trial; null where it has no row, or the ledger cannot be read. Error:
// environment.
Status PlanAttemptRepair(storage::Env& env, const std::string& directory, const std::string& attempt,
                         const std::set<std::string>& referenced, const storage::TrialAccount* account,
                         RepairPlan& plan) {
  return AttemptRepair(env, directory, attempt, referenced, account, plan).Plan();
}

std::string UnfinishedText(const SalvagedLog& log) {
  return "ends in " + std::to_string(log.lost_bytes) + " bytes of an unfinished record";
}

// The state that the journal gives up to its first illegal event.
struct Replayed {
  std::optional<Core> core;
  std::size_t records = 0;
  Status illegal;
};

Replayed ReplayFront(const SalvagedLog& log, const std::string& directory, std::size_t most) {
  Replayed replayed;
  replayed.core.emplace(Settings{.results = directory, .provenance_json = {}});
  JournalCodec codec;
  for (const storage::Record& record : log.contents.records) {
    if (replayed.records == most) break;
    replayed.illegal = ReplayRecord(record, codec, *replayed.core);
    if (!replayed.illegal.ok()) break;
    ++replayed.records;
  }
  return replayed;
}

// Adds the journal's repair and returns the state that the repaired journal will give.
Result<Core> PlanJournal(storage::Env& env, const std::string& directory, RepairPlan& plan) {
  RETORT_ASSIGN_OR_RETURN(SalvagedLog log, storage::SalvageRecordLog(env, GetJournalPath(directory), LogKind::journal));
  Replayed replayed = ReplayFront(log, directory, log.contents.records.size());
  if (replayed.illegal.code() == StatusCode::usage) return replayed.illegal;
  const bool whole = log.damage.ok() && replayed.illegal.ok() && log.lost_bytes == 0;
  if (whole) return std::move(*replayed.core);
  const std::size_t all = log.contents.records.size();
  std::string what = !replayed.illegal.ok() ? replayed.illegal.message()
                     : !log.damage.ok()     ? log.damage.message()
                                            : UnfinishedText(log);
  if (replayed.records < all) {
    log.whole.resize(log.contents.records[replayed.records].offset);
    replayed = ReplayFront(log, directory, replayed.records);  // an illegal event leaves any state behind
  }
  plan.items.push_back({"journal.log", std::move(what),
                        "its first " + std::to_string(replayed.records) +
                            " records stay; attempts that they do not speak of are looked at again",
                        RepairAction::rewrite, std::move(log.whole)});
  return std::move(*replayed.core);
}

// A ledger must never count too little, so a lost part cannot be repaired.
Status PlanLedger(storage::Env& env, const std::string& directory, const Core& core, RepairPlan& plan) {
  RETORT_ASSIGN_OR_RETURN(SalvagedLog log, storage::SalvageRecordLog(env, GetLedgerPath(directory), LogKind::ledger));
  const Result<std::vector<storage::LedgerEntry>> entries = storage::ReadLedger(env, GetLedgerPath(directory));
  const std::string lost = entries.ok() ? DescribeLostLedger(core, entries->size()) : "";
  if (!lost.empty()) {
    log.damage = DamageError(lost);
  } else if (log.damage.ok() && log.lost_bytes == 0) {
    if (entries.ok()) return {};
    log.damage = entries.status();
  } else if (log.lost_bytes == 0 || log.damage.ok()) {
    plan.items.push_back({"ledger.log", log.damage.ok() ? UnfinishedText(log) : log.damage.message(),
                          "every whole record stays", RepairAction::rewrite, std::move(log.whole)});
    return {};
  }
  plan.items.push_back({"ledger.log",
                        log.damage.message(),
                        "what it charged cannot be told any more: restore it from a copy",
                        RepairAction::none,
                        {}});
  return {};
}

std::set<std::string> ListAttemptFiles(const Core& core, RepairPlan& plan) {
  std::set<std::string> files;
  for (const std::size_t index : core.plan()) {
    const Trial& trial = core.At(index);
    if (!trial.row) continue;
    const Result<storage::ResultRow> row = trial.row.Read(GetStateName(trial.state));
    if (row.ok() && !row->attempt_file.empty()) files.insert(row->attempt_file);
    if (!row.ok())
      plan.items.push_back({"journal.log", row.status().message(), "restore it from a copy", RepairAction::none, {}});
  }
  return files;
}

// Accounts by folder, of the trials that have a row; none where the ledger cannot be read or is incomplete.
using Accounts = std::map<std::string, storage::TrialAccount>;
Accounts ComputeAccounts(storage::Env& env, const std::string& directory, const Core& core) {
  Accounts accounts;
  const Result<std::vector<storage::LedgerEntry>> entries = storage::ReadLedger(env, GetLedgerPath(directory));
  if (!entries.ok() || !DescribeLostLedger(core, entries->size()).empty()) return accounts;
  PrivacyCharges charges;
  charges.Load(*entries);
  for (const std::size_t index : core.plan()) {
    const Trial& trial = core.At(index);
    if (!trial.row || trial.folder.empty()) continue;
    const Result<storage::ResultRow> row = trial.row.Read(GetStateName(trial.state));
    if (!row.ok()) continue;
    accounts[trial.folder] = {trial.spec.data ? trial.spec.data->digest : "", charges.CollectEvents(trial.spec.id),
                              row->claims};
  }
  return accounts;
}

std::set<std::string> ListKnownFolders(const Core& core) {
  std::set<std::string> folders;
  for (const std::size_t index : core.plan())
    if (!core.At(index).folder.empty()) folders.insert(core.At(index).folder);
  return folders;
}

Status PlanTrials(storage::Env& env, const std::string& directory, const Core& core, RepairPlan& plan) {
  const std::set<std::string> files = ListAttemptFiles(core, plan), folders = ListKnownFolders(core);
  for (const std::string& file : files) {
    RETORT_ASSIGN_OR_RETURN(const bool there, storage::PathExists(env, directory + "/" + file));
    if (!there)
      plan.items.push_back({file, "is missing, and a row names it", "restore it from a copy", RepairAction::none, {}});
  }
  RETORT_ASSIGN_OR_RETURN(const bool any, storage::PathExists(env, directory + "/trials"));
  if (!any) return {};
  const Accounts accounts = ComputeAccounts(env, directory, core);
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> trials, env.List(directory + "/trials"));
  for (const std::string& name : trials) {
    const std::string trial = "trials/" + name;
    if (!folders.contains(trial)) plan.notes.push_back(trial + " belongs to no trial that the journal knows");
    RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> attempts, env.List(directory + "/" + trial));
    const auto account = accounts.find(trial);
    for (const std::string& attempt : attempts)
      if (attempt.starts_with("attempt-"))
        RETORT_RETURN_IF_ERROR(PlanAttemptRepair(env, directory, trial + "/" + attempt, files,
                                                 account == accounts.end() ? nullptr : &account->second, plan));
  }
  return {};
}

// results.h5 is derived, so nothing is lost with it.
Status PlanResultFile(storage::Env& env, const std::string& directory, const Core& core, RepairPlan& plan) {
  bool rows = false;
  for (std::size_t index = 0; index < core.known(); ++index) rows = rows || core.At(index).row;
  if (!rows) return {};
  const std::string name = "results.h5", remedy = "it is made anew from journal and ledger";
  RETORT_ASSIGN_OR_RETURN(const bool there, storage::PathExists(env, directory + "/" + name));
  if (!there) {  // a run that was killed may not have made one yet
    RETORT_ASSIGN_OR_RETURN(const bool ended, storage::PathExists(env, GetExitCodePath(directory)));
    if (ended) plan.items.push_back({name, "is missing", remedy, RepairAction::make_anew, {}});
  } else if (const Status whole = storage::CheckResultFile(directory); !whole.ok()) {
    if (whole.code() == StatusCode::environment)  // or it went since
      return storage::MayExist(storage::PosixEnv(), directory + "/" + name) ? whole : Status();
    plan.items.push_back({name, whole.message(), remedy, RepairAction::make_anew, {}});
  }
  return {};
}

std::string FreeQuarantine(storage::Env& env, const std::string& directory) {
  for (int number = 1;; ++number)
    if (std::string name = "quarantine-" + std::to_string(number); !storage::MayExist(env, directory + "/" + name))
      return name;
}

Status KeepAside(storage::Env& env, const std::string& directory, const std::string& quarantine,
                 const std::string& file) {
  const std::string to = directory + "/" + quarantine + "/" + file;
  RETORT_RETURN_IF_ERROR(env.CreateDirectories(to.substr(0, to.find_last_of('/'))));
  RETORT_ASSIGN_OR_RETURN(const std::string bytes, env.ReadFile(directory + "/" + file));
  return env.WriteFileAtomically(to, bytes);
}

Status Mend(storage::Env& env, const std::string& path, const RepairItem& item) {
  if (item.action == RepairAction::move_aside || item.action == RepairAction::make_anew) return env.Remove(path);
  if (item.account) return storage::RecountAttemptFile(env, path, *item.account);
  return env.WriteFileAtomically(path, item.content);
}

// results.h5, and no exit code of a sweep that is not complete any more.
Status Republish(storage::Env& env, const std::string& directory) {
  RETORT_ASSIGN_OR_RETURN(Recovered recovered,
                          RecoverResults(env, Settings{.results = directory, .provenance_json = {}}));
  ReadSurroundings(env, recovered.core);
  RETORT_RETURN_IF_ERROR(RepublishSpending(env, recovered.core));
  if (!recovered.core.AllFinal()) RETORT_RETURN_IF_ERROR(env.Remove(GetExitCodePath(directory)));
  return PublishResults(env, recovered.core, recovered.ledger->entries());
}

}  // namespace

std::string_view GetActionName(RepairAction action) {
  switch (action) {
    case RepairAction::rewrite:
      return "rewrite";
    case RepairAction::move_aside:
      return "move-aside";
    case RepairAction::make_anew:
      return "make-anew";
    case RepairAction::none:
      break;
  }
  return "none";
}

std::size_t RepairPlan::BeyondRepair() const {
  return static_cast<std::size_t>(std::count_if(
      items.begin(), items.end(), [](const RepairItem& item) { return item.action == RepairAction::none; }));
}

Result<RepairPlan> PlanRepair(storage::Env& env, const std::string& directory) {
  RETORT_ASSIGN_OR_RETURN(const bool there, storage::PathExists(env, GetJournalPath(directory)));
  if (!there)
    return EnvironmentError("there is no journal in " + directory +
                            ": name the folder of a sweep that was run, with --results");
  RepairPlan plan;
  RETORT_ASSIGN_OR_RETURN(const Core core, PlanJournal(env, directory, plan));
  RETORT_RETURN_IF_ERROR(PlanLedger(env, directory, core, plan));
  RETORT_RETURN_IF_ERROR(PlanTrials(env, directory, core, plan));
  RETORT_RETURN_IF_ERROR(PlanResultFile(env, directory, core, plan));
  return plan;
}

Result<std::string> ApplyRepair(storage::Env& env, const std::string& directory, const RepairPlan& plan) {
  const std::string quarantine = FreeQuarantine(env, directory);
  bool used = false, ledger_lost = false;
  for (const RepairItem& item : plan.items) {
    ledger_lost = ledger_lost || (item.where == "ledger.log" && item.action == RepairAction::none);
    if (item.action == RepairAction::none) continue;
    RETORT_ASSIGN_OR_RETURN(const bool there, storage::PathExists(env, directory + "/" + item.where));
    if (!there && item.action == RepairAction::make_anew) continue;
    used = true;
    RETORT_RETURN_IF_ERROR(KeepAside(env, directory, quarantine, item.where));
    RETORT_RETURN_IF_ERROR(Mend(env, directory + "/" + item.where, item));
  }
  RETORT_RETURN_IF_ERROR(ledger_lost ? RepublishLostSpending(env, directory) : Republish(env, directory));
  return used ? quarantine : std::string();
}

}  // namespace retort::orchestrator
