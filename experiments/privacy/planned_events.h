// What a trial will release, before it runs.
#pragma once

#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "experiments/privacy/privacy_event.h"

namespace retort::privacy {

// The events that the trial will cause if nothing fails, for planning and calibration.
[[nodiscard]] Result<std::vector<PrivacyEvent>> PlanEvents(const TrialSpec& spec);

// Of votes behind a threshold: the most that are answered, which is what is charged, however many are.
[[nodiscard]] std::int64_t CountPlannedAnswers(const TrialSpec& spec);

// How far, in deviations of its noise, a test raises the cost of votes, so that votes that cost more pass with a tenth
// of delta at most; and how smooth the sensitivity is that the noise goes by.
[[nodiscard]] double ComputeTestMargin(double delta);
[[nodiscard]] double ComputeTestSmoothness(double order);

// Of votes behind a threshold whose cost is tested: the test, without facts.
[[nodiscard]] PrivacyEvent PlanConsensusTest(const TrialSpec& spec);

// Of a trial that is chosen by a score on private examples: the draw of that score, which is no part of PlanEvents.
// REQUIRES: spec.score_noise > 0.
[[nodiscard]] PrivacyEvent PlanScore(const TrialSpec& spec);

// PlanEvents with what spec.execution.retries lost attempts may charge beside it: a block each of reserve_block
// releases, and none beyond what the plan draws. Calibration solves for these.
[[nodiscard]] Result<std::vector<PrivacyEvent>> PlanEventsWithRetries(const TrialSpec& spec);

}  // namespace retort::privacy
