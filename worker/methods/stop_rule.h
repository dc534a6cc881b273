// The rule of the key stop = {...}: whether a trial ends before its last step. Deterministic: checked at fixed steps,
// on the trial's state alone.
#pragma once

#include <cstdint>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "worker/methods/method.h"

namespace retort::worker {

// Whether the rule is checked after `completed` (>= 1) steps. Always false without a rule.
[[nodiscard]] bool IsStopCheck(const TrialSpec& spec, std::int64_t completed);

// Whether the loss of the trial's step `step` belongs to its curve, `within` of the `of` steps of a phase: every
// `every` steps, in the last one, and wherever a stop rule needs it.
[[nodiscard]] bool ShouldRecordLoss(const TrialSpec& spec, std::int64_t step, std::int64_t within, std::int64_t of,
                                    std::int64_t every = 5);

// `series` holds the points of the step that was just done. The accuracy is measured by `method`, which goes on
// unchanged. False where the step recorded no loss. Error: the method's.
[[nodiscard]] Result<bool> ShouldStop(const TrialSpec& spec, const Series& series, Method& method);

}  // namespace retort::worker
