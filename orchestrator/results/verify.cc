#include "orchestrator/results/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "experiments/methods/spec_codec.h"
#include "experiments/privacy/claim.h"
#include "experiments/privacy/claims.h"
#include "orchestrator/core/privacy_charges.h"
#include "orchestrator/results/audit_store.h"
#include "orchestrator/results/refuted_claims.h"
#include "orchestrator/results/sweep_status.h"
#include "orchestrator/results/trial_names.h"
#include "storage/files/path_status.h"
#include "storage/formats/tensor_blob.h"
#include "storage/log/attempt_logs.h"
#include "storage/log/checkpoint_manifest.h"
#include "storage/log/record_log.h"
#include "storage/results/attempt_account.h"
#include "storage/results/attempt_file.h"
#include "storage/results/result_file.h"

namespace retort::orchestrator {
namespace {

std::optional<double> FindMetric(const storage::ResultRow& row, const std::string& metric) {
  for (const auto& [name, value] : row.metrics)
    if (name == metric) return value;
  return std::nullopt;
}

}  // namespace

std::vector<std::string> FindAttemptDamage(storage::Env& env, const std::string& results, const storage::ResultRow& row,
                                           const storage::TrialAccount& account) {
  const std::string path = results + "/" + row.attempt_file;
  const Result<bool> there = storage::PathExists(env, path);
  if (!there.ok()) return {there.status().message()};
  if (!*there) return {"is missing"};
  const Result<storage::AttemptFile> file = storage::ReadAttemptFile(path);
  if (!file.ok()) return {file.status().message()};
  std::vector<std::string> damage;
  if (file->trial != row.trial) damage.push_back("belongs to trial " + file->trial + ", not to " + row.trial);
  const std::optional<double> accuracy = FindMetric(row, "test.accuracy");
  if (file->evaluation && accuracy && file->evaluation->accuracy != *accuracy)
    damage.emplace_back("holds another test.accuracy than its row");
  if (!file->parameters.empty() && storage::ComputeTensorDigest(file->parameters) != row.parameters_digest)
    damage.emplace_back("holds other parameters than its row was written for");
  for (std::string& what : storage::DescribeAccountDamage(*file, account)) damage.push_back(std::move(what));
  return damage;
}

Status CheckAgainstRow(const storage::AttemptFile& file, const storage::ResultRow& row) {
  const std::string where = "'" + row.attempt_file + "' ";
  if (row.row_digest != storage::ComputeRowDigest(row))
    return DamageError("The row of " + row.name + " in the journal is not what its digest says.");
  if (file.trial != row.trial)
    return DamageError(where + "belongs to trial " + file.trial + ", not to " + row.trial + ".");
  if (file.parameters.empty() && row.parameters_digest != storage::ComputeTensorDigest({}))
    return DamageError(where +
                       "holds no parameters, since its row was imported from an archive of rows: run the sweep in "
                       "another folder to train it again.");
  if (storage::ComputeTensorDigest(file.parameters) != row.parameters_digest)
    return DamageError(where + "holds other parameters than its row was written for.");
  storage::ResultRow held;
  held.spec_json = file.spec_json;
  held.metrics = file.metrics;
  held.parameters_digest = row.parameters_digest;
  if (storage::ComputeRowDigest(held) == row.row_digest) return {};
  return DamageError(where + "holds another specification or other metrics than its row was written for.");
}

namespace {

using storage::LogKind;

void CheckLog(storage::Env& env, const std::string& directory, const std::string& path, LogKind kind,
              VerifyReport& report) {
  const std::string full = directory + "/" + path;
  if (!storage::MayExist(env, full)) return;
  const Result<storage::LogContents> contents = storage::ReadRecordLog(env, full, kind);
  ++report.logs;
  if (!contents.ok()) {
    report.damage.push_back({path, contents.status().message(), contents.status().code()});
  } else if (contents->torn_bytes > 0) {
    report.remarks.push_back(fmt::format("{} ends in {} bytes of an unfinished record; the next writer cuts them", path,
                                         contents->torn_bytes));
  }
}

void CheckCheckpoints(storage::Env& env, const std::string& directory, const std::string& attempt,
                      VerifyReport& report) {
  const std::string folder = directory + "/" + attempt, path = folder + "/manifest.log";
  if (!storage::MayExist(env, path)) return;
  const Result<storage::LogContents> contents = storage::ReadRecordLog(env, path, LogKind::manifest);
  if (!contents.ok()) return;  // reported as a log already
  const Result<storage::ManifestState> state = storage::ReplayManifest(*contents, path);
  if (!state.ok()) {
    report.damage.push_back({attempt + "/manifest.log", state.status().message()});
    return;
  }
  for (const storage::CommittedCheckpoint& checkpoint : state->live) {
    ++report.checkpoints;
    const auto bytes = storage::ReadIfIntact(env, folder, checkpoint);
    if (!bytes.ok())
      report.damage.push_back({attempt + "/" + checkpoint.file, bytes.status().message(), bytes.status().code()});
    else if (!*bytes)
      report.damage.push_back({attempt + "/" + checkpoint.file, "is gone, or is not what its manifest recorded"});
  }
}

// The names in a folder below the results folder; none where there is no such folder, or it is a file. One that cannot
// be listed is damage: what lies in it is not verified.
std::vector<std::string> NamesIn(storage::Env& env, const std::string& directory, const std::string& folder,
                                 VerifyReport& report) {
  const std::string path = directory + "/" + folder;
  const Result<bool> listed = storage::IsFolder(env, path);
  if (listed.ok() && !*listed) return {};
  Result<std::vector<std::string>> names =
      listed.ok() ? env.List(path) : Result<std::vector<std::string>>(listed.status());
  if (names.ok()) return *std::move(names);
  const bool said = std::any_of(report.damage.begin(), report.damage.end(),
                                [&folder](const Damage& one) { return one.where == folder; });
  if (!said) report.damage.push_back({folder, names.status().message(), names.status().code()});
  return {};
}

// `trial`/attempt-<n> for every attempt of the trial's folder on disk, relative to `directory` like `trial`.
std::vector<std::string> ListAttemptFolders(storage::Env& env, const std::string& directory, const std::string& trial,
                                            VerifyReport& report) {
  std::vector<std::string> folders;
  for (const std::string& name : NamesIn(env, directory, trial, report))
    if (name.starts_with("attempt-")) folders.push_back(trial + "/" + name);
  return folders;
}

std::vector<std::string> AttemptFolders(storage::Env& env, const std::string& directory, VerifyReport& report) {
  std::vector<std::string> folders;
  for (const std::string& trial : NamesIn(env, directory, "trials", report))
    for (std::string& folder : ListAttemptFolders(env, directory, "trials/" + trial, report))
      folders.push_back(std::move(folder));
  return folders;
}

void CheckLogs(storage::Env& env, const std::string& directory, VerifyReport& report) {
  CheckLog(env, directory, "journal.log", LogKind::journal, report);
  CheckLog(env, directory, "ledger.log", LogKind::ledger, report);
  for (const std::string& attempt : AttemptFolders(env, directory, report)) {
    CheckLog(env, directory, attempt + "/manifest.log", LogKind::manifest, report);
    CheckLog(env, directory, attempt + "/series.log", LogKind::series, report);
    for (const std::string& name : NamesIn(env, directory, attempt, report))
      if (storage::IsTranscriptName(name)) CheckLog(env, directory, attempt + "/" + name, LogKind::transcript, report);
    CheckCheckpoints(env, directory, attempt, report);
  }
}

// Order does not matter; everything else does.
bool SameClaims(const std::vector<privacy::Claim>& a, const std::vector<privacy::Claim>& b) {
  std::multiset<std::string> left, right;
  for (const privacy::Claim& claim : a) left.insert(privacy::EncodeClaim(claim));
  for (const privacy::Claim& claim : b) right.insert(privacy::EncodeClaim(claim));
  return left == right;
}

class RowCheck {
 public:
  RowCheck(storage::Env& env, const ResultsView& view, VerifyReport& report) : env_(env), view_(view), report_(report) {
    charges_.Load(view.ledger);
    for (const TrialView& trial : view.trials) by_id_[trial.spec.id] = &trial;
    for (const storage::LedgerEntry& entry : view.ledger) entries_[entry.attempt.trial].push_back(&entry);
  }

  void Check(const TrialView& trial) {
    CheckCharges(trial);
    if (!trial.row) return;
    ++report_.rows;
    const storage::ResultRow& row = *trial.row;
    const std::string name = FormatTrialName(trial.spec);
    if (row.row_digest != storage::ComputeRowDigest(row))
      report_.damage.push_back({name, "the row's digest is not that of its spec, metrics and parameters"});
    CheckIdentity(trial, name);
    CheckClaims(trial, name);
    CheckAudit(trial, name);
    const storage::TrialAccount account{trial.spec.data == nullptr ? "" : trial.spec.data->digest,
                                        charges_.CollectEvents(trial.spec.id), row.claims};
    if (!row.attempt_file.empty()) {
      ++report_.attempts;
      for (std::string& what : FindAttemptDamage(env_, view_.directory, row, account))
        report_.damage.push_back({row.attempt_file, std::move(what)});
    }
    CheckOtherAttempts(trial, account);
  }

  // What people read with other tools must be what the rows say, less what audits refute.
  void CheckShown(const ResultsView& withdrawn) {
    if (!ResultFileIsThere()) return;
    const Status whole = storage::CheckResultFile(view_.directory);
    const auto shown = storage::ReadShownClaims(view_.directory);
    if (!whole.ok() || !shown.ok()) {
      report_.damage.push_back({"results.h5", (whole.ok() ? shown.status() : whole).message() +
                                                  "; `retort run` and `retort repair --apply` make it anew"});
      return;
    }
    int behind = 0;
    for (const TrialView& trial : withdrawn.trials) {
      if (!trial.row || trial.row->claims.empty()) continue;
      const auto found = shown->find(trial.row->trial);
      if (found == shown->end())
        ++behind;
      else if (!SameClaims(found->second, trial.row->claims))
        report_.damage.push_back({"results.h5", "shows other claims of " + FormatTrialName(trial.spec) +
                                                    " than its row; retort repair --apply makes it anew"});
    }
    if (behind > 0)
      report_.remarks.push_back(fmt::format("results.h5 lacks {} finished {}; the next run publishes it anew", behind,
                                            behind == 1 ? "trial" : "trials"));
  }

 private:
  // Otherwise it is said, as far as there are rows to be shown; a run that was killed may not have made one yet.
  bool ResultFileIsThere() {
    const Result<bool> there = storage::PathExists(env_, view_.directory + "/results.h5");
    if (!there.ok()) report_.damage.push_back({"results.h5", there.status().message()});
    if (!there.ok() || *there || report_.rows == 0) return there.ok() && *there;
    const std::string what = "is missing; `retort run` and `retort repair --apply` make it anew";
    if (storage::MayExist(env_, GetExitCodePath(view_.directory)))
      report_.damage.push_back({"results.h5", what});
    else
      report_.remarks.push_back("results.h5 " + what);
    return false;
  }

  // Finished files that the row does not name: whoever finds one believes it as well.
  void CheckOtherAttempts(const TrialView& trial, const storage::TrialAccount& account) {
    for (const std::string& folder : ListAttemptFolders(env_, view_.directory, trial.folder, report_)) {
      const std::string name = folder + "/attempt.h5";
      if (name == trial.row->attempt_file || !storage::MayExist(env_, view_.directory + "/" + name)) continue;
      const Result<storage::AttemptFile> file = storage::ReadAttemptFile(view_.directory + "/" + name);
      if (!file.ok() || file->trial != trial.row->trial) continue;
      for (std::string& what : storage::DescribeAccountDamage(*file, account))
        report_.damage.push_back({name, std::move(what)});
    }
  }

  // Entries that no attempt of the trial can have caused.
  void CheckCharges(const TrialView& trial) {
    const auto found = entries_.find(trial.spec.id);
    if (found == entries_.end()) return;
    for (const storage::LedgerEntry* entry : found->second) {
      if (trial.spec.data == nullptr || entry->data_digest != trial.spec.data->digest)
        report_.damage.push_back({"ledger.log", fmt::format("entry {} charges another data set than {} uses", entry->id,
                                                            FormatTrialName(trial.spec))});
      if (entry->attempt.number < 1 || entry->attempt.number > trial.attempts)
        report_.damage.push_back(
            {"ledger.log", fmt::format("entry {} is of attempt {} of {}, which never began", entry->id,
                                       entry->attempt.number, FormatTrialName(trial.spec))});
    }
  }

  void CheckIdentity(const TrialView& trial, const std::string& name) {
    const Result<TrialSpec> spec = DecodeTrialSpec(trial.row->spec_json);
    if (!spec.ok())
      report_.damage.push_back({name, "the row's spec does not decode: " + spec.status().message()});
    else if (ComputeTrialId(*spec).Hex() != trial.row->trial)
      report_.damage.push_back({name, "the row's spec is not the one that its trial id names"});
  }

  // A claim that an audit refutes is not to be trusted, whatever the ledger says.
  void CheckAudit(const TrialView& trial, const std::string& name) {
    const Result<std::optional<privacy::AuditReport>> audit = ReadAudit(env_, view_.directory, trial);
    if (!audit.ok()) report_.damage.push_back({name, audit.status().message()});
    if (!audit.ok() || !audit->has_value()) return;
    for (std::string& what : ListContradictions(**audit))
      report_.damage.push_back({name, "a claim is refuted by " + std::move(what)});
  }

  // What the ledger charged must give the claims that the row prints.
  void CheckClaims(const TrialView& trial, const std::string& name) {
    ClaimSubject judged;
    judged.spec = &trial.spec;
    const auto teacher = trial.spec.parent ? by_id_.find(*trial.spec.parent) : by_id_.end();
    if (teacher != by_id_.end() && teacher->second->row) {
      judged.teacher = &teacher->second->spec;
      judged.teacher_claims = &teacher->second->row->claims;
    }
    const std::vector<privacy::Claim> claims =
        privacy::ComputeClaims(MakeClaimContext(judged, charges_), charges_.CollectEvents(trial.spec.id));
    if (!SameClaims(claims, trial.row->claims))
      report_.damage.push_back({name, "the row's claims are not those that follow from the ledger"});
  }

  storage::Env& env_;
  const ResultsView& view_;
  VerifyReport& report_;
  PrivacyCharges charges_;
  std::map<TrialId, const TrialView*> by_id_;
  std::map<TrialId, std::vector<const storage::LedgerEntry*>> entries_;
};

}  // namespace

VerifyReport Verify(storage::Env& env, const std::string& directory) {
  VerifyReport report;
  CheckLogs(env, directory, report);
  const Result<ResultsView> view = ReadResults(env, directory);
  if (!view.ok()) {
    if (view.status().code() == StatusCode::usage) report.other_version = view.status();
    // A damaged log is listed already, by name.
    if (report.damage.empty()) report.damage.push_back({"journal.log", view.status().message()});
    return report;
  }
  report.ledger_entries = static_cast<int>(view->ledger.size());
  if (std::string lost = DescribeLostJournal(*view); !lost.empty())
    report.damage.push_back({"journal.log", std::move(lost)});
  if (!view->ledger_lost.empty()) report.damage.push_back({"ledger.log", view->ledger_lost});
  RowCheck rows(env, *view, report);
  for (const TrialView& trial : view->trials) rows.Check(trial);
  if (view->running) return report;
  ResultsView withdrawn = *view;
  WithdrawRefuted(env, withdrawn);
  rows.CheckShown(withdrawn);
  return report;
}

}  // namespace retort::orchestrator
