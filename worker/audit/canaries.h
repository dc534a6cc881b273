// One-run audit of DP-SGD with canaries: mislabelled examples, each in the training set or not by a fair
// coin.
#pragma once

#include <cstdint>
#include <vector>

#include "experiments/privacy/audit_report.h"
#include "worker/audit/audit_run.h"
#include "worker/audit/audited_trial.h"
#include "worker/data/dataset.h"

namespace retort::worker::audit {

// The trial trained once more, as it was but for the canaries, which take the place of as many private
// examples. The canaries that the final network is surest of are guessed to be in, those that it is least
// sure of to be out, a tenth of all each.
[[nodiscard]] Result<privacy::AuditFinding> AuditCanaries(const AuditedTrial& trial,
                                                          const AuditProgress& progress);

// The first coins.size() examples with another label each. Where the coin is 0 the image is not a number, so
// that the example's gradient counts as zero: DP-SGD then behaves as if it were absent, at the same sampling
// rate.
[[nodiscard]] Examples PlantCanaries(const Examples& train, std::int64_t classes,
                                     const std::vector<bool>& coins);

}  // namespace retort::worker::audit
