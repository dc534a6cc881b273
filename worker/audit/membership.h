// Membership inference on the network that a trial ended with: was this example among the private ones?
#pragma once

#include <vector>

#include "experiments/privacy/audit_report.h"
#include "worker/audit/audit_run.h"
#include "worker/audit/audited_trial.h"

namespace retort::worker::audit {

// The threshold attack on the loss (Yeom et al. 2018), and, where the order allows `shadows` networks,
// offline LiRA (Carlini et al. 2022), each on as many private as test examples. The bound on epsilon comes
// from the game of pairs: of each private and each test example a fair coin, the permutation of the split,
// said which one is private; the most confident quarter of the guesses counts, a number fixed in advance. In
// file order there is no coin and no bound. An ensemble is not attacked: it is never released.
[[nodiscard]] Result<std::vector<privacy::AuditFinding>> AuditMembership(const AuditedTrial& trial,
                                                                         const AuditProgress& progress);

// The finding of scores of private and of test examples; `attack` names it. Sizes at least 1.
[[nodiscard]] privacy::AuditFinding JudgeMembership(const AuditedTrial& trial, const std::string& attack,
                                                    std::vector<double> members, std::vector<double> others);

}  // namespace retort::worker::audit
