// Archives what a sweep measured as one text file: plan, rows, thinned curves, ledger and audits, without parameters,
// samples, host names and paths. Layout in storage/FORMAT.md, section "row archive".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/privacy/audit_report.h"
#include "orchestrator/core/events.h"
#include "orchestrator/results/results_view.h"
#include "orchestrator/results/synthetic_store.h"
#include "storage/files/env.h"
#include "storage/log/privacy_ledger.h"
#include "storage/results/attempt_file.h"

namespace retort::orchestrator {

inline constexpr int kArchiveVersion = 1;
inline constexpr std::size_t kMaxCurvePoints = 40;  // of one curve, its first and last among them

struct ArchivedAttempt {
  std::string path;           // of its attempt.h5, relative to the results folder
  storage::AttemptFile file;  // without parameters and samples
};

struct RowArchive {
  std::string program;               // the version that wrote it
  std::string sweep_toml;            // of the folder
  std::vector<JournalEvent> events;  // replayed in this order they give the sweep, its rows, and nothing that runs
  std::vector<storage::LedgerEntry> ledger;
  std::vector<ArchivedAttempt> attempts;
  std::vector<privacy::AuditReport> audits;
  std::vector<std::pair<std::string, SyntheticResult>> synthetic;  // by trial: what its generated images teach
};

// Of a results folder that was read with Plans::every. `program`: FormatVersion. Error: environment or damage, for what
// cannot be read: a row whose attempt file is gone, a report of an audit, a ledger that lost entries.
[[nodiscard]] Result<RowArchive> CollectArchive(storage::Env& env, const ResultsView& view, const std::string& program);

// JSON, one object a line; the last line seals those before it.
[[nodiscard]] std::string EncodeArchive(const RowArchive& archive);
// `name` stands in errors. Error: usage, for a text that is no archive or is of a newer version; damage, naming the
// line, where it was cut or edited.
[[nodiscard]] Result<RowArchive> DecodeArchive(std::string_view text, const std::string& name);

}  // namespace retort::orchestrator
