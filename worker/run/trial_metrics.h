// The metrics that every trial has, whatever its method.
#pragma once

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "worker/data/dataset.h"
#include "worker/methods/method.h"
#include "worker/release/validation_count.h"

namespace retort::worker {

// Metrics of every finished trial, beside those of its method: "data.skipped", where images were left out;
// "test.sensitive_accuracy", where the data names sensitive classes and `outcome` was evaluated; "student.parameters",
// trainable values of a student's network, and of a teacher's that is one. Error: usage, as MakeNetwork.
[[nodiscard]] Result<Series> ComputeTrialMetrics(const TrialSpec& spec, const Dataset& data, const Outcome& outcome);

// What a private selection chooses by, where one has drawn the trial and the score is public: how many of the public
// examples the student of `outcome` classifies right. It reads nothing private but the student. Nothing where the score
// is private. Error: usage, for another score; damage.
[[nodiscard]] Result<Series> MeasureScore(const TrialSpec& spec, const Dataset& data, const Outcome& outcome);

// Whether a private selection chooses the trial by a count of its private validation examples.
[[nodiscard]] inline bool HasPrivateScore(const TrialSpec& spec) { return spec.score_noise > 0; }
// That count for the student of `outcome`, sealed. Error: usage, without validation examples or for another score;
// damage.
[[nodiscard]] Result<release::ValidationCount> CountValidation(const TrialSpec& spec, const Dataset& data,
                                                               const Outcome& outcome);
// The score that a noisy count is, of as many examples as the split names: a share, which noise may move beyond 0 or 1.
[[nodiscard]] Series MakeScoreSeries(const TrialSpec& spec, std::int64_t noisy_count);

}  // namespace retort::worker
