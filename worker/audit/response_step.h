// Release-step audit of randomised response: two teachers that are sure of different candidates go through the real
// release code many times.
#pragma once

#include <cstdint>

#include "experiments/privacy/audit_report.h"
#include "experiments/spec/status.h"
#include "experiments/spec/trial_spec.h"
#include "worker/audit/release_step.h"

namespace retort::worker::audit {

// Of a student by randomised response. One answer is looked at, with the trial's form and candidates, at the trial's
// epsilon0 or kSeenEpsilon if that is less: at 10 the answer that tells is one in 22,000. A federation's clients answer
// alike; one of them is asked. Error: refused, when the event has no bound (a printed form).
inline constexpr double kSeenEpsilon = 2;
[[nodiscard]] Result<privacy::AuditFinding> AuditResponseStep(const TrialSpec& spec, std::int64_t classes,
                                                              const StepAuditSettings& settings);

}  // namespace retort::worker::audit
