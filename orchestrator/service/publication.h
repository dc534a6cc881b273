// Writes the derived files of a results folder: results.h5, metrics, sweep.toml. All can be made again from journal and
// ledger, so a failure to write one is reported and tried again, and ends the run only when the run is over anyway.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "monitoring/exporter.h"
#include "orchestrator/core/core.h"
#include "orchestrator/results/results_view.h"  // ExitCodePath
#include "orchestrator/service/run_metrics.h"
#include "storage/files/env.h"
#include "storage/log/privacy_ledger.h"

namespace retort::orchestrator {

// sweep.toml and the like of a run that has work to do; removes the exit code of the run before.
[[nodiscard]] Status PublishOpening(storage::Env& env, const Core& core);
// Writes the exit code, which says that the run is over and that every derived file is up to date.
[[nodiscard]] Status PublishExitCode(storage::Env& env, const std::string& results, int exit_code);
// results.h5. Leaves out claims that an audit refutes (refuted_claims.h).
[[nodiscard]] Status PublishResults(storage::Env& env, const Core& core,
                                    const std::vector<storage::LedgerEntry>& ledger);
// The same from what is on disk, where nothing runs; and RepublishSpending. The caller holds
// the folder's lock.
[[nodiscard]] Status RepublishResults(storage::Env& env, const std::string& results);

// Writes targets.json: Exporter::Targets, or empty where no metrics are served.
[[nodiscard]] Status PublishTargets(storage::Env& env, const std::string& results, const std::string& targets);

// Publishes when due. A results.h5 takes time in proportion to the rows, so the pause between two is at
// least kPublishPauseFactor times what the last one took. So do metrics in proportion to the seats.
class Publication {
 public:
  static constexpr double kPublishPauseSeconds = 1;
  static constexpr double kPublishPauseFactor = 20;
  static constexpr double kMetricsSeconds = 1;
  static constexpr double kMetricsPauseFactor = 1000;  // times what gathering the last ones took, at least
  static constexpr double kMaxMetricsSeconds = 10;     // and at most
  static constexpr double kMetricsFileSeconds = 15;

  // `exporter` may be null.
  Publication(storage::Env& env, monitoring::Exporter* exporter) : env_(env), exporter_(exporter) {}

  void RowsChanged() { rows_changed_ = true; }
  // Writes what is due. Returns an error message about a file that could not be written, once; else empty.
  [[nodiscard]] std::string Tick(const Core& core, const std::vector<storage::LedgerEntry>& ledger,
                                 const RunFacts& facts, Now now);
  // Writes everything now. Error: environment.
  [[nodiscard]] Status Finish(const Core& core, const std::vector<storage::LedgerEntry>& ledger, const RunFacts& facts,
                              Now now);
  [[nodiscard]] double NextDeadline() const;

 private:
  [[nodiscard]] Status PublishRows(const Core& core, const std::vector<storage::LedgerEntry>& ledger, Now now);
  [[nodiscard]] Status PublishMetrics(const Core& core, RunFacts facts, Now now, bool file, bool fresh);
  storage::Env& env_;
  monitoring::Exporter* exporter_;
  RunMetrics metrics_;
  std::optional<std::uint64_t> free_bytes_;  // as of the last metrics file
  bool rows_changed_ = false;
  bool complained_ = false;
  double next_rows_ = 0, next_metrics_ = 0, next_metrics_file_ = 0;  // monotonic
};

}  // namespace retort::orchestrator
