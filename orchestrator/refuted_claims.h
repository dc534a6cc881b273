// What is left of proven claims once an audit has shown more than they allow, and of claims that an older program wrote
// and that the ledger does not support by today's rules. Rows stay as they were written; whoever shows them shows this.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "experiments/spec/trial_spec.h"
#include "orchestrator/core.h"
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
  std::vector<std::string> refuted = {};  // set: as in TrialView
  bool refuted_teacher = false;           // set
  std::string audit_unknown = {};         // set
  bool unknown_teacher_audit = false;     // set
};

// Every proven claim of a trial that an audit contradicts becomes unbounded, with the reason refuted-by-audit; one of a trial
// of which nobody can say what audits found (a report that cannot be read) with the reason audit-unreadable; so does,
// with its own reason, each that cannot hold by what the ledger recorded (WithdrawUnsupported, claim.h). What students claim
// is computed again from what is left of their teacher's claims. `ledger`: of the folder.
void WithdrawRefuted(storage::Env& env, const std::string& results,
                     const std::vector<storage::LedgerEntry>& ledger, std::vector<ShownRow>& rows);
// The same for a view read from its folder, trials that the plan has no longer among them. Rows that are packed are opened
// where a trial was audited, and else left as they are: whoever opens one later sees it as it was written.
void WithdrawRefuted(storage::Env& env, ResultsView& view);
// The same of what audits say alone: `refuted` and `audit_unknown` of each trial with a row, and no claim is changed.
void JudgeAudits(storage::Env& env, ResultsView& view);
// Of a trial that either has seen, called `name`: sentences for people; none where audits leave it its claims.
[[nodiscard]] std::vector<std::string> AuditWarnings(const TrialView& trial, const std::string& name);
// Whether any trial with a row has ever been audited.
[[nodiscard]] bool AnyAudit(storage::Env& env, const ResultsView& view);
// Core::audit_voids of a core's trials, planned or not.
[[nodiscard]] std::map<TrialId, std::string> AuditVoids(storage::Env& env, const Core& core);

}  // namespace retort::orchestrator
