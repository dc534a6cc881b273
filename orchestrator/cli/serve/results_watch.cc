#include "orchestrator/cli/serve/results_watch.h"

#include <algorithm>
#include <utility>

#include "orchestrator/cli/render/report_reader.h"
#include "orchestrator/journal/folder_lock.h"
#include "orchestrator/journal/journal.h"
#include "orchestrator/results/cost_history.h"
#include "orchestrator/results/refuted_claims.h"
#include "orchestrator/results/trial_names.h"
#include "storage/log/record_log.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::uint64_t kMaxSeriesBytes = std::uint64_t{32} << 20;  // of one trial; beyond it no curves are drawn

bool Runs(const TrialView& trial) { return trial.state == TrialState::running || trial.state == TrialState::leased; }

// Adds what tells this state of the file from every other. False where the file system does not.
bool AddStamp(storage::Env& env, const std::string& path, std::vector<std::uint64_t>& stamps) {
  const Result<storage::FileStamp> stamp = env.Stamp(path);
  if (!stamp.ok()) {
    stamps.push_back(0);
    return true;
  }
  stamps.insert(stamps.end(), {1, stamp->size, static_cast<std::uint64_t>(stamp->modified), stamp->inode});
  return stamp->telling || stamp->folder;
}

}  // namespace

Result<std::optional<LiveState>> ResultsWatch::Look(double clock) {
  const std::optional<Stamps> stamps = ReadStamps();
  const bool changed = !view_ || !stamps || stamps != stamps_;
  if (changed) {
    view_.reset();
    RETORT_RETURN_IF_ERROR(Read());
    stamps_ = stamps;  // taken before: what is written meanwhile is read again
  }
  const bool drawn = ReadCurves();
  const bool old = view_->running && clock - made_ >= kMaxAgeSeconds;
  if (!changed && !drawn && !old) return std::optional<LiveState>();
  made_ = clock;
  return std::optional(Make(clock));
}

std::optional<ResultsWatch::Stamps> ResultsWatch::ReadStamps() const {
  Stamps stamps = {IsFolderLocked(env_, directory_) ? 1U : 0U};
  for (const std::string& path : {GetJournalPath(directory_), GetLedgerPath(directory_), directory_ + "/results.h5",
                                  directory_ + "/audited", directory_ + "/requests", directory_ + "/sweep.toml"})
    if (!AddStamp(env_, path, stamps)) return std::nullopt;
  return stamps;
}

Status ResultsWatch::Read() {
  ++reads_;
  RETORT_ASSIGN_OR_RETURN(ResultsView view, ReadPacked(env_, directory_));
  WithdrawRefuted(env_, view);
  root_ = ReadRoot(env_, view);
  view_ = std::move(view);
  return {};
}

std::string ResultsWatch::FindSeries(const TrialView& trial) const {
  return directory_ + "/" + trial.folder + "/attempt-" + std::to_string(trial.attempts) + "/series.log";
}

bool ResultsWatch::ReadCurves() {
  std::map<TrialId, SeriesFile> before = std::exchange(series_, {});
  bool changed = false;
  std::size_t drawn = 0;
  for (const TrialView& trial : view_->trials) {
    if (!view_->running || !Runs(trial) || trial.folder.empty()) continue;
    if (++drawn > LiveLimits().drawn) break;
    SeriesFile& file = series_[trial.spec.id];
    const std::string path = FindSeries(trial);
    const bool telling = AddStamp(env_, path, file.stamps);
    if (const auto known = before.find(trial.spec.id);
        known != before.end() && telling && known->second.stamps == file.stamps) {
      file = std::move(known->second);
      continue;
    }
    changed = true;
    const Result<storage::FileStamp> stamp = env_.Stamp(path);
    if (!stamp.ok() || stamp->size > kMaxSeriesBytes) continue;
    // What cannot be read while it is written is read at the next look.
    const auto contents = storage::ReadRecordLog(env_, path, storage::LogKind::series);
    if (!contents.ok()) continue;
    if (Result<storage::Curves> curves = storage::ReplaySeries(*contents, path); curves.ok())
      file.curves = *std::move(curves);
  }
  return changed || series_.size() != before.size();
}

LiveState ResultsWatch::Make(double clock) const {
  const SweepStatus status = ComputeStatus(*view_, ReadKnownCosts(costs_, &*view_), clock, &root_);
  const auto curves = [this](const TrialView& trial) {
    const auto found = series_.find(trial.spec.id);
    return found == series_.end() ? storage::Curves() : found->second.curves;
  };
  return MakeLiveState(status, curves, clock);
}

std::string ResultsWatch::DescribeTrials() const {
  std::string all = view_->sweep + (view_->running ? " running" : "");
  for (const TrialView& trial : view_->trials) {
    all += " " + trial.spec.id.Hex() + std::to_string(trial.attempts) + std::string(GetStateName(trial.state));
    if (!FindAuditVoid(trial).empty()) all += "!";
  }
  return all;
}

bool ResultsWatch::IsReportDue() const { return view_ && reported_ != DescribeTrials(); }

Result<std::string> ResultsWatch::MakeReport(const std::string& profile, double clock) {
  if (view_) reported_ = DescribeTrials();
  Result<ResultsView> view = ReadShownResults(env_, directory_, Plans::newest);
  if (!view.ok()) {
    reported_.reset();
    return view.status();
  }
  const std::string command = AddResultsOption("retort serve", directory_);
  return ReadReport(env_, *view, {profile, command, clock}, MakeReportBody).html;
}

}  // namespace retort::orchestrator::cli
