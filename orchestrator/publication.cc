#include "orchestrator/publication.h"

#include <algorithm>

#include "orchestrator/recovery.h"
#include "orchestrator/refuted_claims.h"
#include "orchestrator/spent_metrics.h"
#include "orchestrator/surroundings.h"
#include "orchestrator/system_clock.h"
#include "storage/output_place.h"
#include "storage/result_file.h"

namespace retort::orchestrator {
namespace {

// What runs that were killed left of files that they were writing.
Status RemoveLeftovers(storage::Env& env, const std::string& results) {
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> names, env.List(results));
  for (const std::string& name : names)
    if (storage::IsTemporaryName(name)) RETORT_RETURN_IF_ERROR(env.Remove(results + "/" + name));
  return {};
}

}  // namespace

std::string ExitCodePath(const std::string& results) { return results + "/exit-code"; }

Status PublishOpening(storage::Env& env, const Core& core) {
  const std::string& results = core.settings().results;
  RETORT_RETURN_IF_ERROR(storage::CheckReplaceable(ExitCodePath(results)));
  RETORT_RETURN_IF_ERROR(env.Remove(ExitCodePath(results)));
  RETORT_RETURN_IF_ERROR(RemoveLeftovers(env, results));
  return env.WriteFileAtomically(results + "/sweep.toml", core.resolved_toml());
}

Status PublishExitCode(storage::Env& env, const std::string& results, int exit_code) {
  return env.WriteFileAtomically(ExitCodePath(results), std::to_string(exit_code) + "\n");
}

Status PublishResults(storage::Env& env, const Core& core, const std::vector<storage::LedgerEntry>& ledger) {
  std::vector<storage::ResultRow> rows;
  std::vector<const Trial*> trials;
  for (const std::size_t index : core.plan()) {
    const Trial& trial = core.At(index);
    if (!trial.row) continue;
    RETORT_ASSIGN_OR_RETURN(storage::ResultRow row, trial.row.Read(StateName(trial.state)));
    rows.push_back(std::move(row));
    trials.push_back(&trial);
  }
  std::vector<ShownRow> shown;
  for (std::size_t i = 0; i < rows.size(); ++i)
    shown.push_back({&trials[i]->spec, trials[i]->folder, &rows[i]});
  WithdrawRefuted(env, core.settings().results, ledger, shown);
  return storage::WriteResultFile(env, core.settings().results, core.sweep(), rows, ledger);
}

Status RepublishResults(storage::Env& env, const std::string& results) {
  RETORT_ASSIGN_OR_RETURN(Recovered recovered,
                          RecoverResults(env, Settings{.results = results, .provenance_json = {}}));
  LearnSurroundings(env, recovered.core);
  RETORT_RETURN_IF_ERROR(RepublishSpending(env, recovered.core));
  return PublishResults(env, recovered.core, recovered.ledger->entries());
}

Status PublishTargets(storage::Env& env, const std::string& results, const std::string& targets) {
  return env.WriteFileAtomically(results + "/targets.json", targets.empty() ? "[]\n" : targets);
}

std::string Publication::Tick(const Core& core, const std::vector<storage::LedgerEntry>& ledger,
                              const RunFacts& facts, Now now) {
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

Status Publication::Finish(const Core& core, const std::vector<storage::LedgerEntry>& ledger,
                           const RunFacts& facts, Now now) {
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
  // A file system may be slow to say it.
  if (file)
    if (const Result<std::uint64_t> free = env_.FreeBytes(core.settings().results); free.ok()) free_bytes_ = *free;
  facts.free_bytes = free_bytes_;
  const double began = ReadClocks().monotonic;
  monitoring::MetricValues values = metrics_.Collect(core, facts, now, fresh);
  const double pause = kMetricsPauseFactor * (ReadClocks().monotonic - began);
  next_metrics_ = now.monotonic + std::clamp(pause, kMetricsSeconds, kMostMetricsSeconds);
  Status status;
  if (file) {
    next_metrics_file_ = now.monotonic + kMetricsFileSeconds;
    // Scraped pages get the label from targets.json.
    status = env_.WriteFileAtomically(core.settings().results + "/metrics.prom",
                                      monitoring::ExpositionText(values, core.sweep()));
  }
  if (exporter_ != nullptr) exporter_->Publish(std::move(values));
  return status;
}

double Publication::NextDeadline() const {
  return rows_changed_ ? std::min(next_rows_, next_metrics_) : next_metrics_;
}

}  // namespace retort::orchestrator
