// Keeps the status of a sweep that nobody runs beside its journal (RESULTS/summary.json), so that the status of a very
// large sweep can be told without reading its trials. A summary is valid only for the journal, ledger, marks of
// examples and known costs from which it was made.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "experiments/base/status.h"
#include "orchestrator/journal/cost_cache.h"
#include "orchestrator/results/results_view.h"
#include "orchestrator/results/sweep_status.h"
#include "storage/files/env.h"

namespace retort::orchestrator {

// Bytes of a journal that takes a tenth of a second to read.
inline constexpr std::uint64_t kSummarisedBytes = std::uint64_t{6} << 20;

struct SweepSummary {
  ResultsView view;               // without trials, ledger, usage and inventory
  TrialsStatus trials;            // as nobody's budgets and charges but the sweep's own make them
  std::set<std::string> digests;  // DataDigests
};

[[nodiscard]] std::string FindSummaryPath(const std::string& results);

// What tells this state of journal, ledger, marks and known costs from every other. Nothing where the file system does
// not, where somebody runs the sweep, and where a trial was audited.
[[nodiscard]] std::optional<std::string> ComputeSummarySources(storage::Env& env, const std::string& results,
                                                               const CostCache& costs);

// Keeps `trials` of `view`, which were read after `sources` was. Does nothing for a journal of fewer than
// `least_bytes`, where what `status` says depends on the time, since a trial waits to be tried again, where data of
// it has no marks, and for a sweep that searches. `program`: FormatVersion. Error: environment when it cannot be
// written.
[[nodiscard]] Status StoreSummary(storage::Env& env, const std::string& sources, const ResultsView& view,
                                  const TrialsStatus& trials, const std::string& program,
                                  std::uint64_t least_bytes = kSummarisedBytes);
// The same of what is on disk. Error: as ReadPacked too.
[[nodiscard]] Status StoreSummary(storage::Env& env, const std::string& results, const CostCache& costs,
                                  const std::string& program, std::uint64_t least_bytes = kSummarisedBytes);
// Nothing where there is none, where it is damaged or another program's, and where it was made of other sources.
[[nodiscard]] std::optional<SweepSummary> ReadSummary(storage::Env& env, const std::string& results,
                                                      const std::string& sources, const std::string& program);

}  // namespace retort::orchestrator
