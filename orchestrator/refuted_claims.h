// What is left of proven claims once an audit has shown more than they allow. Rows stay as they were written; whoever
// shows them shows this.
#pragma once

#include <string>
#include <vector>

#include "experiments/spec/trial_spec.h"
#include "orchestrator/results_view.h"
#include "storage/env.h"
#include "storage/privacy_ledger.h"
#include "storage/result_file.h"

namespace retort::orchestrator {

// One trial that has a row. Teachers are among the rows of their students' sweep.
struct ShownRow {
  const TrialSpec* spec = nullptr;
  std::string folder;                 // relative to the results folder; empty: the trial left none
  storage::ResultRow* row = nullptr;  // its claims are changed
  std::vector<std::string> refuted;   // set: as in TrialView
  bool refuted_teacher = false;       // set
};

// Every proven claim of a trial that an audit contradicts becomes unbounded, with the reason refuted-by-audit; what
// students claim is computed again from what is left of their teacher's claims. `ledger`: of the folder. A report that
// cannot be read refutes nothing here: `retort verify` names it.
void WithdrawRefuted(storage::Env& env, const std::string& results,
                     const std::vector<storage::LedgerEntry>& ledger, std::vector<ShownRow>& rows);
// The same for a view read from its folder.
void WithdrawRefuted(storage::Env& env, ResultsView& view);
// Whether any trial with a row has ever been audited.
[[nodiscard]] bool AnyAudit(storage::Env& env, const ResultsView& view);

}  // namespace retort::orchestrator
