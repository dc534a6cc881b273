// What every finished trial is measured by, beside its method's own metrics.
#pragma once

#include "experiments/spec/status.h"
#include "worker/methods/method.h"

namespace retort::worker {

// "data.skipped", where pictures were left out; "test.sensitive_accuracy", where the data names sensitive classes and
// `outcome` was evaluated; "student.parameters", trainable values of a student's network. Error: usage, as
// MakeNetwork.
[[nodiscard]] Result<Series> TrialMetrics(const TrialSpec& spec, const Dataset& data, const Outcome& outcome);

}  // namespace retort::worker
