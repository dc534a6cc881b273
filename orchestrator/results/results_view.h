// Reads a results folder without taking its lock: journal, ledger and rows, for whoever only reads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/base/failure_kind.h"
#include "experiments/base/ids.h"
#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/core/inventory.h"
#include "orchestrator/core/privacy_charges.h"
#include "orchestrator/core/quota.h"
#include "orchestrator/core/trial.h"
#include "storage/files/env.h"
#include "storage/log/privacy_ledger.h"
#include "storage/results/result_file.h"

namespace retort::orchestrator {

class Core;

struct TrialView {
  TrialSpec spec;
  bool planned = true;  // false of one that the newest plan has not
  TrialState state = TrialState::queued;
  std::uint32_t attempts = 0;               // begun so far
  std::string folder;                       // below `directory`; empty before the first attempt
  FailureKind failure = FailureKind::none;  // of the newest ended attempt
  std::string detail;                       // of the same
  double retry_at = 0;                      // unix seconds; 0 = not waiting for a retry
  std::int64_t step = 0, total_steps = 0;   // newest journaled progress
  std::string phase;                        // of the same
  Pace pace;                                // of the newest attempt
  std::optional<storage::ResultRow> row;    // once it ended for good
  StoredRow packed;                         // the same in a view that ReadPacked made, where `row` is empty
  // Of a view that WithdrawRefuted has seen: what audits of the trial refute, in sentences; and whether
  // claims of it rested on a teacher of which they do.
  std::vector<std::string> refuted;
  bool refuted_teacher = false;
  // Likewise: why nobody can say what audits found of the trial, so that nothing is claimed of it; and whether claims
  // of it rested on such a teacher.
  std::string audit_unknown;
  bool unknown_teacher_audit = false;
};

// Why what the trial charged has no bound by audits of it: a reason of reasons.h or a void; empty where they leave it
// one.
[[nodiscard]] std::string FindAuditVoid(const TrialView& trial);

struct ResultsView {
  std::string directory;
  std::string sweep;              // name
  std::string resolved_toml;      // its text as it was last run
  std::vector<TrialView> trials;  // in plan order; then, of Plans::every, those that the newest plan has not
  // Of Plans::newest: those that the newest plan has not, with rows left packed. What they charged counts.
  std::vector<TrialView> unplanned;
  UnpackedDigests unpacked;  // of data sets that are stored packed
  std::vector<std::shared_ptr<const DataSpec>>
      data;                // of every trial that the journal knows, planned or not; each once
  std::string noted_root;  // of the results root in which it was first run; empty: nobody noted it
  std::vector<storage::LedgerEntry> ledger;
  std::string ledger_lost;           // why `ledger` charges too little; empty when it is whole
  Quota quota;                       // of the sweep as it was last run
  Usage usage;                       // of it
  RunTerms terms;                    // of the newest run
  Inventory inventory;               // of it
  double newest_event = 0;           // unix seconds: what is shown of a run is as old as this
  std::size_t requests = 0;          // of users, that nobody has answered yet
  std::vector<std::string> drained;  // sentences about slots that the newest run left out
  std::vector<std::string> packed;   // sentences about trials that shared a device in the newest run
  bool running = false;              // another process holds the folder's lock
  bool run_over = false;             // the newest run came to its end, and wrote its exit code
};

// Holds the exit code of the run, once it is over and everything derived is up to date.
[[nodiscard]] inline std::string GetExitCodePath(const std::string& results) { return results + "/exit-code"; }

// Unix seconds now: `clock`, that of this machine, or the newest event where the clock is behind it. So nothing has
// lasted less than no time where the clocks of hosts differ.
[[nodiscard]] inline double ChooseNow(const ResultsView& view, double clock) {
  return std::max(clock, view.newest_event);
}

[[nodiscard]] inline bool HasRow(const TrialView& trial) { return trial.row || trial.packed; }
// There must be one. Error: damage.
[[nodiscard]] Result<storage::ResultRow> ReadRow(const TrialView& trial);

// Whose trials a view has: those of the sweep as it was last run in the folder, or of all that ran there.
enum class Plans : unsigned char { newest, every };

// Of every trial that `core` knows, each data set and split once.
[[nodiscard]] std::vector<std::shared_ptr<const DataSpec>> ListDataSpecs(const Core& core);

// Error: environment when the folder or its journal is absent; usage when it is of another format
// version; damage with the offset.
[[nodiscard]] Result<ResultsView> ReadResults(storage::Env& env, const std::string& directory,
                                              Plans plans = Plans::newest);
// The same with rows left packed, for who needs few of many: a row that is damaged is found by its reader alone.
[[nodiscard]] Result<ResultsView> ReadPacked(storage::Env& env, const std::string& directory);
// The same as ReadResults from the journal alone: the ledger is left empty and not looked at.
[[nodiscard]] Result<ResultsView> ReadJournaled(storage::Env& env, const std::string& directory);

// What the ledger of a folder that is read has charged, as totals and budgets count it.

// Everything in the ledger of `view`, by its own digests of data sets.
[[nodiscard]] PrivacyCharges CollectCharges(const ResultsView& view);
// What counts of it: as MakeCountRule a core (result_row.h), for a view that WithdrawRefuted has seen. Borrows both.
[[nodiscard]] PrivacyCharges::CountRule MakeCountRule(const ResultsView& view, const PrivacyCharges& charges);

}  // namespace retort::orchestrator
