// Membership inference: whether an example was among the private ones. Attacks on the network that a trial ended with,
// and a one-run audit of DP-SGD with canaries.
#pragma once

#include <cstdint>
#include <vector>

#include "experiments/privacy/audit_report.h"
#include "worker/audit/audit_run.h"
#include "worker/audit/audited_trial.h"
#include "worker/data/dataset.h"

namespace retort::worker::audit {

// The threshold attack on the loss (Yeom et al. 2018), and, where the order allows `shadows`, LiRA (Carlini et al.
// 2022), offline and online, and RMIA (Zarifzadeh, Liu and Shokri 2024), each on as many private as test examples
// (ChooseAttacked). A shadow is the whole trial: a student's has a teacher of its own. The bound on epsilon comes from
// the game of pairs: of each private and each test example a fair coin, the permutation of the split, said which one is
// private; the most confident quarter of the guesses counts, a number fixed in advance. In file order there is no coin
// and no bound. An ensemble is not attacked: it is never released.
[[nodiscard]] Result<std::vector<privacy::AuditFinding>> AuditMembership(const AuditedTrial& trial,
                                                                         const AuditProgress& progress);

// The finding of scores of private and of test examples; `attack` names it. Sizes at least 1.
[[nodiscard]] privacy::AuditFinding MakeMembershipFinding(const AuditedTrial& trial, const std::string& attack,
                                                          std::vector<double> members, std::vector<double> others);

// Canaries are mislabelled examples, each in the training set or not by a fair coin (Steinke, Nasr and Jagielski 2023).
//
// The trial trained once more, as it was but for the canaries, which take the place of as many private
// examples. The canaries that the final network is surest of are guessed to be in, those that it is least
// sure of to be out, a tenth of all each.
[[nodiscard]] Result<privacy::AuditFinding> AuditCanaries(const AuditedTrial& trial, const AuditProgress& progress);

// The first coins.size() examples with another label each. Where the coin is 0 the image is not a number, so
// that the example's gradient counts as zero: DP-SGD then behaves as if it were absent, at the same sampling
// rate.
[[nodiscard]] Examples PlantCanaries(const Examples& train, std::int64_t classes, const std::vector<bool>& coins);

}  // namespace retort::worker::audit
