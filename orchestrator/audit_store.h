// Reports of audits, beside the trials that they are of: TRIAL/audit.json. Before the first one the results folder gets
// a mark, which is written again after each, so that who keeps what it once knew of the folder sees that there may be more
// to know.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/privacy/audit_report.h"
#include "experiments/spec/status.h"
#include "orchestrator/results_view.h"
#include "storage/env.h"

namespace retort::orchestrator {

// Whether anything was ever stored for the trial in `folder`, relative to `results`; empty: it left no folder.
[[nodiscard]] bool HasAudit(storage::Env& env, const std::string& results, const std::string& folder);
[[nodiscard]] bool HasAuditMark(storage::Env& env, const std::string& results);
// Of the mark: another one after every audit that was stored. Error: environment, as when there is none.
[[nodiscard]] Result<storage::FileStamp> StampOfAudits(storage::Env& env, const std::string& results);
// The report on the trial's present row; nothing when there is none, or when it is of an earlier result.
// Error: damage, naming the file.
[[nodiscard]] Result<std::optional<privacy::AuditReport>> ReadAudit(storage::Env& env,
                                                                    const std::string& results,
                                                                    const TrialView& trial);
// The same for the trial in `folder`, relative to `results`.
[[nodiscard]] Result<std::optional<privacy::AuditReport>> ReadAudit(storage::Env& env,
                                                                    const std::string& results,
                                                                    const std::string& folder,
                                                                    const storage::ResultRow& row);

// By rename. New findings take the place of earlier ones of the same kinds; the rest stays. The trial has a
// row. Returns what is stored now.
[[nodiscard]] Result<privacy::AuditReport> StoreAudit(storage::Env& env, const std::string& results,
                                                      const TrialView& trial,
                                                      std::vector<privacy::AuditFinding> findings);

// What the report says of the trial itself at 95 % or more, as claims of status audited: not the release step, whose
// noise was scaled. Lower bounds are rounded down to thousandths.
[[nodiscard]] std::vector<privacy::Claim> AuditedClaims(const privacy::AuditReport& report);

// Sentences about what audits of the trial refute; empty when they refute nothing.
[[nodiscard]] std::vector<std::string> Contradictions(const privacy::AuditReport& report);

}  // namespace retort::orchestrator
