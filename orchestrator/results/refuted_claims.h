// Withdraws claims that do not hold: those that an audit refutes, and those that an older program wrote and that the
// ledger does not support by today's rules. Rows stay as they were written; whoever shows rows shows what is left of
// their claims.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "experiments/methods/trial_spec.h"
#include "orchestrator/core/core.h"
#include "orchestrator/results/results_view.h"
#include "storage/files/env.h"
#include "storage/log/privacy_ledger.h"
#include "storage/results/result_file.h"

namespace retort::orchestrator {

// One trial that has a row. Teachers are among the rows of their students' sweep.
struct ShownRow {
  const TrialSpec* spec = nullptr;
  std::string folder;                     // relative to the results folder; empty: the trial left none
  storage::ResultRow* row = nullptr;      // its claims are changed
  std::vector<std::string> refuted = {};  // set: as in TrialView
  bool refuted_teacher = false;           // set
  std::string audit_unknown = {};         // set
  bool unknown_teacher_audit = false;     // set
};

// Every proven claim of a trial that an audit contradicts becomes unbounded, with the reason refuted-by-audit; one of a
// trial of which nobody can say what audits found (a report that cannot be read) with the reason audit-unreadable; so
// does, with its own reason, each that cannot hold by what the ledger recorded (WithdrawUnsupportedClaims, claims.h).
// What students claim is computed again from what is left of their teacher's claims. `ledger`: of the folder.
void WithdrawRefuted(storage::Env& env, const std::string& results, const std::vector<storage::LedgerEntry>& ledger,
                     std::vector<ShownRow>& rows);
// The same for a view read from its folder, trials that the plan has no longer among them. Rows that are packed are
// opened where a trial was audited, and else left as they are: whoever opens one later sees it as it was written.
void WithdrawRefuted(storage::Env& env, ResultsView& view);
// The same of what audits say alone: `refuted` and `audit_unknown` of each trial with a row, and no claim is changed.
void MarkRefuted(storage::Env& env, ResultsView& view);
// Of a trial that either has seen, called `name`: sentences for people; none where audits leave it its claims.
[[nodiscard]] std::vector<std::string> AuditWarnings(const TrialView& trial, const std::string& name);
// Whether any trial with a row has ever been audited.
[[nodiscard]] bool HasAudits(storage::Env& env, const ResultsView& view);
// Core::audit_voids of a core's trials, planned or not.
[[nodiscard]] std::map<TrialId, std::string> FindAuditVoids(storage::Env& env, const Core& core);

// For tables and figures: the folder as it is stored; an empty view where nothing is yet. Error: as ReadResults.
[[nodiscard]] Result<ResultsView> ReadStoredResults(storage::Env& env, const std::string& results, Plans plans);

// The same for people: claims that audits refute are withdrawn, and what audits found stands among the claims of its
// trial.
[[nodiscard]] Result<ResultsView> ReadShownResults(storage::Env& env, const std::string& results, Plans plans);

// Gives every row the metric `name` that it lacks, where it is a timing of the row ("step_seconds"), a figure of an
// audit of the trial ("audit.membership.auc": the first finding of that kind that ran and has it), or what was learnt
// from images of its generator ("synthetic.accuracy", "synthetic.fid"). What cannot be read is not there.
void AddMetric(storage::Env& env, const std::string& name, ResultsView& view);

}  // namespace retort::orchestrator
