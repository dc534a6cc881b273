#include "worker/audit/dpsgd_step_audit.h"

#include <ATen/ATen.h>

#include "worker/audit/added_example.h"

namespace retort::worker::audit {
namespace {

constexpr std::int64_t kCoordinates = 8;

}  // namespace

Result<privacy::AuditFinding> AuditDpSgdStep(const StepMaker& make, double norm_bound,
                                             const StepAuditSettings& settings) {
  at::Tensor example = at::zeros({1, kCoordinates});
  example[0][0] = 100 * norm_bound;  // clipped to norm_bound
  const auto sum_of = [&](const release::DpSgdStep& mechanism, bool present) {
    release::ClippedSum sum = mechanism.NewSum();
    if (present) sum.Add(example);
    return sum;
  };
  return AuditAddedExample(make, sum_of, norm_bound, "a DP-SGD step", settings);
}

StepMaker ScaledDpSgdStep(const TrialSpec& spec, double mu) {
  release::DpSgdSettings settings;
  settings.norm_bound = spec.norm_bound;
  settings.noise_multiplier = 1 / mu;
  settings.sampling_rate = 1;
  settings.batch = spec.batch;
  settings.coordinates = kCoordinates;
  return [settings] { return release::DpSgdStep::Create(settings, noise::NoiseKey::FromOperatingSystem()); };
}

}  // namespace retort::worker::audit
