#include "worker/audit/inception_score.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "experiments/spec/spec_keys.h"
#include "experiments/spec/trial_kind.h"
#include "worker/audit/retraining.h"

namespace retort::worker::audit {
namespace {

constexpr std::int64_t kFewestEpochs = 5, kFewestSteps = 500, kBatch = 64;

TrialSpec JudgeOf(const TrialSpec& trial, std::int64_t examples) {
  TrialSpec spec;
  spec.role = Role::teacher;
  spec.method = "plain";
  spec.data = trial.data;
  spec.seed = trial.seed;
  ApplyPreset(spec, TrialKind::plain_teacher);
  spec.network = trial.network;
  spec.activation = trial.activation;
  spec.threads = trial.threads;
  spec.batch = std::min(kBatch, examples);
  const std::int64_t steps_an_epoch = (examples + spec.batch - 1) / spec.batch;
  spec.epochs = std::max(kFewestEpochs, (kFewestSteps + steps_an_epoch - 1) / steps_an_epoch);
  return spec;
}

}  // namespace

double InceptionScore(const at::Tensor& probabilities) {
  const at::Tensor p = probabilities.to(at::kDouble), mean = p.mean(0, true);
  return std::exp((at::xlogy(p, p) - at::xlogy(p, mean)).sum(1).mean().item<double>());
}

Result<std::unique_ptr<Network>> TrainJudge(const AuditedTrial& trial, const AuditProgress& progress) {
  Dataset data = trial.inputs.data;
  if (data.test.size() == 0) return UsageError("Without test examples there is nothing that a judge could learn from.");
  data.train = data.test;
  const TrialSpec spec = JudgeOf(trial.inputs.spec, data.test.size());
  return Retrain(spec, data, *trial.env,
                 [&](std::int64_t done, std::int64_t of) { progress("inversion", done, of); });
}

}  // namespace retort::worker::audit
