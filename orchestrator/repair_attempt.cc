#include "orchestrator/repair_attempt.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "storage/attempt_file.h"
#include "storage/attempt_logs.h"
#include "storage/checkpoint_manifest.h"
#include "storage/file_seal.h"
#include "storage/record_log.h"
#include "storage/transcript.h"

namespace retort::orchestrator {
namespace {

using storage::LogKind;

class AttemptRepair {
 public:
  AttemptRepair(storage::Env& env, std::string directory, std::string attempt,
                const std::set<std::string>& referenced, const storage::TrialAccount* account, RepairPlan& plan)
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
  bool Has(const std::string& name) const {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  }
  void Aside(const std::string& name, const std::string& what, const std::string& remedy) {
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
      Aside("attempt.h5", sealed.message(), "no row needs it; the trial goes on without it");
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
    if (!storage::Forgotten(file->ledger, account_->charged).empty())
      plan_.items.push_back({attempt_ + "/attempt.h5", "records more draws of noise than the ledger charges to its trial",
                             "what the ledger lost cannot be told from it: restore ledger.log and journal.log from a newer copy",
                             RepairAction::none, {}, {}});
    if (!storage::NeedsRecount(*file, *account_)) return;
    plan_.items.push_back({attempt_ + "/attempt.h5", "counts or claims other than the ledger and its trial's row",
                           "it gets the draws that it lacks and the row's claims; students that inherited its own get "
                           "those of their rows likewise",
                           RepairAction::rewrite, {}, *account_});
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
      Aside("manifest.log", damage.message(), "the attempt has finished and does not need it");
      return true;
    }
    // Without its manifest a checkpoint counts for nothing, and opening the folder would delete it.
    for (const std::string& name : names_)
      Aside(name,
            name == "manifest.log" ? damage.message() : "belongs to an attempt whose manifest is damaged",
            "the next attempt goes on from an earlier one, or from the beginning");
    return false;
  }

  Status PlanCheckpoint(const storage::CommittedCheckpoint& checkpoint) {
    live_.insert(checkpoint.file);
    RETORT_ASSIGN_OR_RETURN(const std::optional<std::string> bytes,
                            storage::ReadIntact(env_, Path(""), checkpoint));
    if (bytes) return {};
    if (Has(checkpoint.file))
      Aside(checkpoint.file, "is not what its manifest recorded",
            "the trial goes on from the checkpoint before it, or from the beginning");
    else
      plan_.notes.push_back(
          attempt_ + "/" + checkpoint.file +
          " is gone: the trial goes on from the checkpoint before it, or from the beginning");
    return {};
  }

  Status PlanLog(const std::string& name, LogKind kind) {
    if (!Has(name)) return {};
    RETORT_ASSIGN_OR_RETURN(const storage::SalvagedLog log,
                            storage::SalvageRecordLog(env_, Path(name), kind));
    const std::string where = attempt_ + "/" + name;
    const Status read = kind == LogKind::series ? storage::ReplaySeries(log.contents, where).status()
                                                : storage::ReplayTranscript(log.contents, 0, where).status();
    const Status damage = log.damage.ok() ? read : log.damage;
    if (!damage.ok())
      Aside(name, damage.message(),
            kind == LogKind::series
                ? "its curves begin anew"
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
        Aside(name, "is referred to by nothing", "it was never finished, or was about to be removed");
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

}  // namespace

Status PlanAttemptRepair(storage::Env& env, const std::string& directory, const std::string& attempt,
                         const std::set<std::string>& referenced, const storage::TrialAccount* account,
                         RepairPlan& plan) {
  return AttemptRepair(env, directory, attempt, referenced, account, plan).Plan();
}

}  // namespace retort::orchestrator
