#include "worker/audit/dpsgd_step_audit.h"

#include <ATen/ATen.h>

#include <utility>
#include <vector>

#include "worker/audit/free_port.h"

namespace retort::worker::audit {
namespace {

constexpr std::int64_t kCoordinates = 8;

Result<std::vector<double>> Scores(const StepMaker& make, double norm_bound, bool present,
                                   std::int64_t samples) {
  RETORT_ASSIGN_OR_RETURN(release::DpSgdStep step, make());
  FreePort port;
  release::ChargeBook book(&port, samples, samples);
  at::Tensor example = at::zeros({1, kCoordinates});
  example[0][0] = 100 * norm_bound;  // clipped
  std::vector<double> scores;
  scores.reserve(static_cast<std::size_t>(samples));
  for (std::int64_t i = 0; i < samples; ++i) {
    release::ClippedSum sum(kCoordinates, norm_bound);
    if (present) sum.Add(example);
    RETORT_ASSIGN_OR_RETURN(release::Charge charge, book.Take(step.Describe(1), 1));
    RETORT_ASSIGN_OR_RETURN(const at::Tensor released, step.Release(std::move(sum), i, std::move(charge)));
    scores.push_back(static_cast<double>(released.const_data_ptr<float>()[0]) - norm_bound / 2);
  }
  return scores;
}

}  // namespace

Result<privacy::AuditFinding> AuditDpSgdStep(const StepMaker& make, double norm_bound,
                                             const StepAuditSettings& settings) {
  RETORT_ASSIGN_OR_RETURN(const release::DpSgdStep step, make());
  const privacy::PrivacyEvent event = step.Describe(1);
  const std::string problem = privacy::EventProblem(event);
  if (!problem.empty()) return Refused("Nothing is proven of this step: " + problem + ".");
  StepScores scores;
  RETORT_ASSIGN_OR_RETURN(scores.one, Scores(make, norm_bound, true, settings.samples));
  RETORT_ASSIGN_OR_RETURN(scores.other, Scores(make, norm_bound, false, settings.samples));
  return JudgeScores(scores, "a DP-SGD step", privacy::kExampleAdded, event.sensitivity / event.noise_std,
                     settings);
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
