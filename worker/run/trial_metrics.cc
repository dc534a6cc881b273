#include "worker/run/trial_metrics.h"

#include <memory>
#include <optional>

#include "experiments/sweep/select_spec.h"
#include "worker/models/model_registry.h"
#include "worker/models/network.h"
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

Result<Series> MeasureScore(const TrialSpec& spec, const Dataset& data, const Outcome& outcome) {
  if (spec.score.empty()) return Series();
  if (spec.score != kPublicScore) return UsageError("There is no score '" + spec.score + "'.");
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<Network> network,
                          MakeNetwork(spec, data.shape, data.classes, std::nullopt, data.device));
  RETORT_RETURN_IF_ERROR(network->LoadState("student/", outcome.parameters));
  return Series{{spec.score, Evaluate(*network, data.public_split).accuracy}};
}

}  // namespace retort::worker
