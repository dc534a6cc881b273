// Transcript audit of vote ensembles: one member swapped, the noise replayed.
#pragma once

#include "experiments/privacy/audit_report.h"
#include "worker/audit/audit_run.h"
#include "worker/audit/audited_trial.h"

namespace retort::worker::audit {

// All answers of the trial's own ensemble to the trial's own queries, equal ones once as they were released,
// and the same with one member that votes for another class every time, go through the real release at the
// trial's own noise again and again; the sum of log-likelihood ratios over the whole transcript distinguishes
// them. No training. Public queries alone: those of a generator depend on what was answered before, and are
// not kept.
[[nodiscard]] Result<privacy::AuditFinding> AuditTranscript(const AuditedTrial& trial, const AuditProgress& progress);

}  // namespace retort::worker::audit
