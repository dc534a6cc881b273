// How a finished sweep stands, kept beside its journal (RESULTS/summary.json), so that nobody has to read the trials of
// a very large one to be told so. It counts only for the very journal and ledger that it was made of.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "experiments/spec/status.h"
#include "experiments/spec/sweep.h"
#include "orchestrator/cli/sweep_status.h"
#include "orchestrator/results_view.h"
#include "storage/env.h"

namespace retort::orchestrator::cli {

// Bytes of a journal that takes a tenth of a second to read.
inline constexpr std::uint64_t kSummarisedBytes = std::uint64_t{6} << 20;

struct SweepSummary {
  ResultsView view;              // without trials, ledger, usage and inventory
  TrialsStatus trials;           // as nobody's budgets and charges but the sweep's own make them
  std::set<std::string> charged; // ChargedDigests
};

[[nodiscard]] std::string SummaryPath(const std::string& results);

// Keeps one where every trial of the folder is final, nobody runs it, no trial was audited, and its journal has
// `least_bytes`; does nothing elsewhere. `program`: VersionText. Error: environment when it cannot be written, and as
// ReadPacked.
[[nodiscard]] Status KeepSummary(storage::Env& env, const std::string& results, const std::string& program,
                                 std::uint64_t least_bytes = kSummarisedBytes);
// Nothing where there is none, where it is damaged or another program's, where journal or ledger are not those that it
// was made of, where somebody runs the sweep, and where an audit was stored.
[[nodiscard]] std::optional<SweepSummary> ReadSummary(storage::Env& env, const std::string& results,
                                                      const std::string& program);

}  // namespace retort::orchestrator::cli
