#include "orchestrator/repair.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "orchestrator/charge_book.h"
#include "orchestrator/core.h"
#include "orchestrator/journal.h"
#include "orchestrator/publication.h"
#include "orchestrator/recovery.h"
#include "orchestrator/repair_attempt.h"
#include "orchestrator/spent_metrics.h"
#include "orchestrator/surroundings.h"
#include "storage/presence.h"
#include "storage/privacy_ledger.h"
#include "storage/record_log.h"
#include "storage/result_file.h"

namespace retort::orchestrator {
namespace {

using storage::LogKind;
using storage::SalvagedLog;

std::string UnfinishedText(const SalvagedLog& log) {
  return "ends in " + std::to_string(log.lost_bytes) + " bytes of an unfinished record";
}

// What the journal says up to its first illegal event.
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
  RETORT_ASSIGN_OR_RETURN(SalvagedLog log,
                          storage::SalvageRecordLog(env, JournalPath(directory), LogKind::journal));
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

// A ledger must never count too little: what is lost of it cannot be made up for.
Status PlanLedger(storage::Env& env, const std::string& directory, const Core& core, RepairPlan& plan) {
  RETORT_ASSIGN_OR_RETURN(SalvagedLog log,
                          storage::SalvageRecordLog(env, LedgerPath(directory), LogKind::ledger));
  const Result<std::vector<storage::LedgerEntry>> entries = storage::ReadLedger(env, LedgerPath(directory));
  const std::string lost = entries.ok() ? LostLedgerText(core, entries->size()) : "";
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

std::set<std::string> AttemptFilesOf(const Core& core, RepairPlan& plan) {
  std::set<std::string> files;
  for (const std::size_t index : core.plan()) {
    const Trial& trial = core.At(index);
    if (!trial.row) continue;
    const Result<storage::ResultRow> row = trial.row.Read(StateName(trial.state));
    if (row.ok() && !row->attempt_file.empty()) files.insert(row->attempt_file);
    if (!row.ok())
      plan.items.push_back(
          {"journal.log", row.status().message(), "restore it from a copy", RepairAction::none, {}});
  }
  return files;
}

// By folder, of the trials that have a row; none where the ledger cannot be read or has lost something.
using Accounts = std::map<std::string, storage::TrialAccount>;
Accounts AccountsOf(storage::Env& env, const std::string& directory, const Core& core) {
  Accounts accounts;
  const Result<std::vector<storage::LedgerEntry>> entries = storage::ReadLedger(env, LedgerPath(directory));
  if (!entries.ok() || !LostLedgerText(core, entries->size()).empty()) return accounts;
  ChargeBook charges;
  charges.Load(*entries);
  for (const std::size_t index : core.plan()) {
    const Trial& trial = core.At(index);
    if (!trial.row || trial.folder.empty()) continue;
    const Result<storage::ResultRow> row = trial.row.Read(StateName(trial.state));
    if (!row.ok()) continue;
    accounts[trial.folder] = {trial.spec.data ? trial.spec.data->digest : "", charges.EventsOf(trial.spec.id),
                              row->claims};
  }
  return accounts;
}

std::set<std::string> TrialFoldersOf(const Core& core) {
  std::set<std::string> folders;
  for (const std::size_t index : core.plan())
    if (!core.At(index).folder.empty()) folders.insert(core.At(index).folder);
  return folders;
}

Status PlanTrials(storage::Env& env, const std::string& directory, const Core& core, RepairPlan& plan) {
  const std::set<std::string> files = AttemptFilesOf(core, plan), folders = TrialFoldersOf(core);
  for (const std::string& file : files) {
    RETORT_ASSIGN_OR_RETURN(const bool there, storage::IsThere(env, directory + "/" + file));
    if (!there)
      plan.items.push_back(
          {file, "is missing, and a row names it", "restore it from a copy", RepairAction::none, {}});
  }
  RETORT_ASSIGN_OR_RETURN(const bool any, storage::IsThere(env, directory + "/trials"));
  if (!any) return {};
  const Accounts accounts = AccountsOf(env, directory, core);
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

// It is derived, so nothing is lost with it.
Status PlanResultFile(storage::Env& env, const std::string& directory, const Core& core, RepairPlan& plan) {
  bool rows = false;
  for (std::size_t index = 0; index < core.known(); ++index) rows = rows || core.At(index).row;
  if (!rows) return {};
  const std::string name = "results.h5", remedy = "it is made anew from journal and ledger";
  RETORT_ASSIGN_OR_RETURN(const bool there, storage::IsThere(env, directory + "/" + name));
  if (!there) {  // a run that was killed may not have made one yet
    RETORT_ASSIGN_OR_RETURN(const bool ended, storage::IsThere(env, ExitCodePath(directory)));
    if (ended) plan.items.push_back({name, "is missing", remedy, RepairAction::make_anew, {}});
  } else if (const Status whole = storage::CheckResultFile(directory); !whole.ok()) {
    if (whole.code() == StatusCode::environment)  // or it went since
      return storage::MayBeThere(storage::PosixEnv(), directory + "/" + name) ? whole : Status();
    plan.items.push_back({name, whole.message(), remedy, RepairAction::make_anew, {}});
  }
  return {};
}

std::string FreeQuarantine(storage::Env& env, const std::string& directory) {
  for (int number = 1;; ++number)
    if (std::string name = "quarantine-" + std::to_string(number); !storage::MayBeThere(env, directory + "/" + name))
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
  LearnSurroundings(env, recovered.core);
  RETORT_RETURN_IF_ERROR(RepublishSpending(env, recovered.core));
  if (!recovered.core.AllFinal()) RETORT_RETURN_IF_ERROR(env.Remove(ExitCodePath(directory)));
  return PublishResults(env, recovered.core, recovered.ledger->entries());
}

}  // namespace

std::string_view ActionName(RepairAction action) {
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
  RETORT_ASSIGN_OR_RETURN(const bool there, storage::IsThere(env, JournalPath(directory)));
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
    RETORT_ASSIGN_OR_RETURN(const bool there, storage::IsThere(env, directory + "/" + item.where));
    if (!there && item.action == RepairAction::make_anew) continue;
    used = true;
    RETORT_RETURN_IF_ERROR(KeepAside(env, directory, quarantine, item.where));
    RETORT_RETURN_IF_ERROR(Mend(env, directory + "/" + item.where, item));
  }
  RETORT_RETURN_IF_ERROR(ledger_lost ? RepublishLostSpending(env, directory) : Republish(env, directory));
  return used ? quarantine : std::string();
}

}  // namespace retort::orchestrator
