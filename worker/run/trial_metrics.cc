#include "worker/run/trial_metrics.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "experiments/methods/methods.h"
#include "experiments/sweep/select_spec.h"
#include "worker/models/model_registry.h"
#include "worker/models/network.h"
#include "worker/training/evaluation.h"

namespace retort::worker {
namespace {

Result<std::unique_ptr<Network>> LoadStudent(const TrialSpec& spec, const Dataset& data, const Outcome& outcome) {
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> network,
                          MakeNetwork(spec, data.shape, data.classes, std::nullopt, data.device));
  RETORT_RETURN_IF_ERROR(network->LoadState("student/", outcome.parameters));
  return network;
}

// Whether the trial leaves one network that has a name: no ensemble, and no TorchScript module.
bool HasOneNetwork(const TrialSpec& spec) {
  return spec.role == Role::student || (FindKind(spec) != TrialKind::ensemble_teacher && spec.network != kTorchScript);
}

}  // namespace

Result<Series> ComputeTrialMetrics(const TrialSpec& spec, const Dataset& data, const Outcome& outcome) {
  Series metrics;
  if (data.skipped > 0) metrics.emplace_back("data.skipped", static_cast<double>(data.skipped));
  if (outcome.evaluation) {
    if (const std::optional<double> value = ComputeAccuracyOn(spec.data->sensitive_classes, *outcome.evaluation))
      metrics.emplace_back("test.sensitive_accuracy", *value);
  }
  if (HasOneNetwork(spec)) {
    RETORT_ASSIGN_OR_RETURN(const std::int64_t count, CountParameters(spec, data.shape, data.classes));
    metrics.emplace_back("student.parameters", static_cast<double>(count));
  }
  return metrics;
}

Result<Series> MeasureScore(const TrialSpec& spec, const Dataset& data, const Outcome& outcome) {
  if (spec.score.empty() || HasPrivateScore(spec)) return Series();
  if (spec.score != kPublicScore) return UsageError("There is no score '" + spec.score + "'.");
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<Network> network, LoadStudent(spec, data, outcome));
  return Series{{spec.score, Evaluate(*network, data.public_split).accuracy}};
}

Result<release::ValidationCount> CountValidation(const TrialSpec& spec, const Dataset& data, const Outcome& outcome) {
  if (spec.score != kPrivateScore) return UsageError("There is no private score '" + spec.score + "'.");
  if (data.validation.size() == 0)
    return UsageError("The score " + spec.score + " needs validation examples: split.validation is empty.");
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<Network> network, LoadStudent(spec, data, outcome));
  const at::NoGradGuard no_grad;
  release::ValidationCount count;
  const std::int64_t most = std::min<std::int64_t>(256, ComputeMaxRowsPerPass(data.shape));
  for (std::int64_t first = 0; first < data.validation.size(); first += most) {
    const std::int64_t rows = std::min(most, data.validation.size() - first);
    const at::Tensor images = data.validation.Range(first, rows);
    count.Add(network->Forward(images).logits, data.validation.labels.narrow(0, first, rows));
  }
  return count;
}

Series MakeScoreSeries(const TrialSpec& spec, std::int64_t noisy_count) {
  const auto examples = static_cast<double>(spec.data->ValidationExamples());
  return {{spec.score, static_cast<double>(noisy_count) / examples}};
}

}  // namespace retort::worker
