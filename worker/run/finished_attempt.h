// Takes over what a finished attempt published when its end was not reported: the next attempt neither trains nor
// charges again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/messages.h"
#include "experiments/methods/trial_spec.h"
#include "experiments/privacy/claim.h"
#include "storage/files/env.h"
#include "worker/run/trial_runner.h"
#include "worker/sleep/trial_host.h"

namespace retort::worker {

// The end that the newest finished attempt of the trial would have reported; nothing if there is none
// that is whole, of the same `spec` (in what is part of identity) and taught by the teacher whose parameters
// have `teacher_digest` (empty: no teacher). Files that are damaged or of another trial are skipped and
// stay where they are. Error: environment.
[[nodiscard]] Result<std::optional<cluster::Ended>> FindFinishedAttempt(storage::Env& env, const TrialOrder& order,
                                                                        const TrialSpec& spec,
                                                                        const std::string& teacher_digest);

// Makes the file that `ended` names count and claim no less than the ledger, which may have charged more than the
// attempt recorded before it died: what `order` says was charged, with the claims that follow. Nothing is written where
// the file already does. What the file says was drawn and `order` does not, since the ledger was lost or an older copy
// of it took its place, is charged once more. Error: damage, environment, or as TrialHost::ChargeDrawn.
[[nodiscard]] Status CountFinishedAttempt(storage::Env& env, const TrialOrder& order, const TrialSpec& spec,
                                          const std::vector<privacy::Claim>& teacher_claims, TrialHost& host,
                                          const cluster::Ended& ended);

// The attempt.h5 of an attempt's folder, by its path from the results folder: trials/<trial>/<attempt>/attempt.h5.
[[nodiscard]] std::string FormatAttemptFilePath(const std::string& attempt_directory);

}  // namespace retort::worker
