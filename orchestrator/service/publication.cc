#include "orchestrator/service/publication.h"

#include <algorithm>

#include "orchestrator/journal/recovery.h"
#include "orchestrator/process/system_clock.h"
#include "orchestrator/results/refuted_claims.h"
#include "orchestrator/results/surroundings.h"
#include "orchestrator/service/run_metrics.h"
#include "storage/files/atomic_file.h"
#include "storage/results/result_file.h"

namespace retort::orchestrator {
namespace {

// Removes temporary files that killed runs left.
Status RemoveLeftovers(storage::Env& env, const std::string& results) {
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> names, env.List(results));
  for (const std::string& name : names)
    if (storage::IsTemporaryName(name)) RETORT_RETURN_IF_ERROR(env.Remove(results + "/" + name));
  return {};
}

}  // namespace

Status PublishOpening(storage::Env& env, const Core& core) {
  const std::string& results = core.settings().results;
  RETORT_RETURN_IF_ERROR(storage::CheckReplaceable(GetExitCodePath(results)));
  RETORT_RETURN_IF_ERROR(env.Remove(GetExitCodePath(results)));
  RETORT_RETURN_IF_ERROR(RemoveLeftovers(env, results));
  return env.WriteFileAtomically(results + "/sweep.toml", core.resolved_toml());
}

Status PublishExitCode(storage::Env& env, const std::string& results, int exit_code) {
  return env.WriteFileAtomically(GetExitCodePath(results), std::to_string(exit_code) + "\n");
}

Status PublishResults(storage::Env& env, const Core& core, const std::vector<storage::LedgerEntry>& ledger) {
  std::vector<storage::ResultRow> rows;
  std::vector<const Trial*> trials;
  for (const std::size_t index : core.plan()) {
    const Trial& trial = core.At(index);
    if (!trial.row) continue;
    RETORT_ASSIGN_OR_RETURN(storage::ResultRow row, trial.row.Read(GetStateName(trial.state)));
    rows.push_back(std::move(row));
    trials.push_back(&trial);
  }
  std::vector<ShownRow> shown;
  for (std::size_t i = 0; i < rows.size(); ++i) shown.push_back({&trials[i]->spec, trials[i]->folder, &rows[i]});
  WithdrawRefuted(env, core.settings().results, ledger, shown);
  return storage::WriteResultFile(env, core.settings().results, core.sweep(), rows, ledger);
}

Status RepublishResults(storage::Env& env, const std::string& results) {
  RETORT_ASSIGN_OR_RETURN(Recovered recovered,
                          RecoverResults(env, Settings{.results = results, .provenance_json = {}}));
  ReadSurroundings(env, recovered.core);
  RETORT_RETURN_IF_ERROR(RepublishSpending(env, recovered.core));
  return PublishResults(env, recovered.core, recovered.ledger->entries());
}

Status PublishTargets(storage::Env& env, const std::string& results, const std::string& targets) {
  return env.WriteFileAtomically(results + "/targets.json", targets.empty() ? "[]\n" : targets);
}

std::string Publication::Tick(const Core& core, const std::vector<storage::LedgerEntry>& ledger, const RunFacts& facts,
                              Now now) {
  if (core.settings().hidden) {
    next_metrics_ = now.monotonic + kMaxMetricsSeconds;
    rows_changed_ = false;
    return "";
  }
  Status status;
  if (rows_changed_ && now.monotonic >= next_rows_) status = PublishRows(core, ledger, now);
  if (now.monotonic >= next_metrics_) {
    const bool file = now.monotonic >= next_metrics_file_;
    const Status metrics = PublishMetrics(core, facts, now, file, false);
    if (status.ok() && !metrics.ok()) status = metrics;
  }
  if (status.ok() || complained_) return "";
  complained_ = true;
  return status.message();
}

Status Publication::Finish(const Core& core, const std::vector<storage::LedgerEntry>& ledger, const RunFacts& facts,
                           Now now) {
  if (core.settings().hidden) return {};
  if (rows_changed_) RETORT_RETURN_IF_ERROR(PublishRows(core, ledger, now));
  return PublishMetrics(core, facts, now, true, true);
}

Status Publication::PublishRows(const Core& core, const std::vector<storage::LedgerEntry>& ledger, Now now) {
  const Status status = PublishResults(env_, core, ledger);
  const double took = ReadClocks().monotonic - now.monotonic;
  next_rows_ = now.monotonic + took + std::max(kPublishPauseSeconds, kPublishPauseFactor * took);
  if (status.ok()) rows_changed_ = false;
  return status;
}

Status Publication::PublishMetrics(const Core& core, RunFacts facts, Now now, bool file, bool fresh) {
  // Some file systems are slow to report this.
  if (file)
    if (const Result<std::uint64_t> free = env_.FreeBytes(core.settings().results); free.ok()) free_bytes_ = *free;
  facts.free_bytes = free_bytes_;
  const double began = ReadClocks().monotonic;
  monitoring::MetricValues values = metrics_.Collect(core, facts, now, fresh);
  const double pause = kMetricsPauseFactor * (ReadClocks().monotonic - began);
  next_metrics_ = now.monotonic + std::clamp(pause, kMetricsSeconds, kMaxMetricsSeconds);
  Status status;
  if (file) {
    next_metrics_file_ = now.monotonic + kMetricsFileSeconds;
    // Scraped pages get the label from targets.json.
    status = env_.WriteFileAtomically(core.settings().results + "/metrics.prom",
                                      monitoring::FormatExposition(values, core.sweep()));
  }
  if (exporter_ != nullptr) exporter_->Publish(std::move(values));
  return status;
}

double Publication::NextDeadline() const { return rows_changed_ ? std::min(next_rows_, next_metrics_) : next_metrics_; }

}  // namespace retort::orchestrator
