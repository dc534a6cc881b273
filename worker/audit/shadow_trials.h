// Shadows of a trial: the whole of it, teacher and student, trained anew on other halves of the attacked examples.
#pragma once

#include "experiments/base/status.h"
#include "worker/audit/attacked_examples.h"
#include "worker/audit/audit_run.h"
#include "worker/audit/audited_trial.h"
#include "worker/audit/likelihood_attacks.h"

namespace retort::worker::audit {

// order.shadows of them, where ExplainNoShadows is empty. A shadow has as many private examples as the trial: half of
// all attacked examples stand in the places of the members, all others stay. Shadows 2k and 2k + 1 have opposite
// halves, so that of an even number half was trained on each example. Test examples of a shadow are those that it was
// not trained on. Error: that of the training.
[[nodiscard]] Result<ShadowScores> TrainShadows(const AuditedTrial& trial, const AttackedExamples& attacked,
                                                const AuditProgress& progress);

// The data set of a shadow, and which of the attacked examples, members first, it is trained on.
struct ShadowData {
  Dataset data;
  std::vector<bool> trained;
};
// Of shadow number `shadow`. `everyone`: the private examples of `data`, and its test examples after them.
[[nodiscard]] ShadowData ChooseShadowData(const Dataset& data, const Examples& everyone,
                                          const AttackedExamples& attacked, std::int64_t shadow);

}  // namespace retort::worker::audit
