// Release-step audit of DP-SGD: one example of the largest gradient, present or absent.
#pragma once

#include <functional>

#include "experiments/privacy/audit_report.h"
#include "experiments/spec/status.h"
#include "worker/audit/release_step.h"
#include "worker/release/dpsgd_step.h"

namespace retort::worker::audit {

// A new step with a fresh key at each call; all of the same settings, of which the sampling rate is 1.
using StepMaker = std::function<Result<release::DpSgdStep>()>;

// `norm_bound` that the example is clipped to. The sampling rate is 1, so that each step is a sample of the
// Gaussian alone; sampling is audited by canaries. Error: those of the step.
[[nodiscard]] Result<privacy::AuditFinding> AuditDpSgdStep(const StepMaker& make, double norm_bound,
                                                           const StepAuditSettings& settings);

// Steps of 8 coordinates of a trial of method dpsgd, with noise multiplier 1 / mu.
[[nodiscard]] StepMaker ScaledDpSgdStep(const TrialSpec& spec, double mu);

}  // namespace retort::worker::audit
