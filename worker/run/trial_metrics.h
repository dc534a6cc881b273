// The metrics that every trial has, whatever its method.
#pragma once

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "worker/data/dataset.h"
#include "worker/methods/method.h"

namespace retort::worker {

// Metrics of every finished trial, beside those of its method: "data.skipped", where pictures were left out;
// "test.sensitive_accuracy", where the data names sensitive classes and `outcome` was evaluated; "student.parameters",
// trainable values of a student's network. Error: usage, as MakeNetwork.
[[nodiscard]] Result<Series> ComputeTrialMetrics(const TrialSpec& spec, const Dataset& data, const Outcome& outcome);

// What a private selection chooses by, where one has drawn the trial: how many of the public examples the student of
// `outcome` classifies right. It reads nothing private but the student. Error: usage, for another score; damage.
[[nodiscard]] Result<Series> MeasureScore(const TrialSpec& spec, const Dataset& data, const Outcome& outcome);

}  // namespace retort::worker
