#include "worker/run/trial_metrics.h"

#include <optional>

#include "worker/models/model_registry.h"
#include "worker/training/evaluation.h"

namespace retort::worker {

Result<Series> ComputeTrialMetrics(const TrialSpec& spec, const Dataset& data, const Outcome& outcome) {
  Series metrics;
  if (data.skipped > 0) metrics.emplace_back("data.skipped", static_cast<double>(data.skipped));
  if (outcome.evaluation) {
    if (const std::optional<double> value = AccuracyOn(spec.data->sensitive_classes, *outcome.evaluation))
      metrics.emplace_back("test.sensitive_accuracy", *value);
  }
  if (spec.role == Role::student) {
    RETORT_ASSIGN_OR_RETURN(const std::int64_t count, CountParameters(spec, data.shape, data.classes));
    metrics.emplace_back("student.parameters", static_cast<double>(count));
  }
  return metrics;
}

}  // namespace retort::worker
