#include <utility>

#include "experiments/spec/methods.h"
#include "worker/release/gaussian_gradient.h"
#include "worker/release/mechanism.h"
#include "worker/release/noiseless.h"
#include "worker/release/noisy_votes.h"

namespace retort::worker::release {
namespace {

template <typename M>
Result<std::unique_ptr<Mechanism>> AsMechanism(Result<std::unique_ptr<M>> made) {
  if (!made.ok()) return made.status();
  return std::unique_ptr<Mechanism>(std::move(made).value());
}

GradientSettings GradientsOf(const TrialSpec& spec, std::int64_t classes) {
  GradientSettings settings;
  settings.reading = spec.reading;
  settings.normalization = spec.normalization;
  settings.loss = spec.loss;
  settings.sigma = spec.sigma;
  settings.norm_bound = spec.norm_bound;
  settings.floor = spec.normalization_floor;
  settings.batch = spec.batch;
  settings.classes = classes;
  settings.alpha = spec.dkd_alpha;
  settings.beta = spec.dkd_beta;
  settings.temperature = spec.temperature;
  settings.detach = spec.detach;
  return settings;
}

}  // namespace

noise::NoiseKey KeyFor(const TrialSpec& spec) {
  if (spec.noise == NoiseMode::seeded) return noise::NoiseKey::FromSeed(spec.seed, spec.id);
  return noise::NoiseKey::FromOperatingSystem();
}

Result<at::Tensor> Mechanism::GraphOf(const Answers&) const {
  return Refused("Releases of this mechanism have no graph.");
}

Result<std::unique_ptr<Mechanism>> MakeMechanism(const TrialSpec& spec, std::int64_t classes,
                                                 std::int64_t members, noise::NoiseKey key,
                                                 noise::NoiseKernels* kernels) {
  const MethodRule* method = FindMethod(spec.method);
  if (method == nullptr || method->teachers == 0)
    return UsageError("Method \"" + spec.method + "\" asks no teacher.");
  if (members > 1) {
    if (spec.reading != Reading::sound) {
      return UsageError("An ensemble answers by noisy votes: trial.reading must be \"sound\".");
    }
    return AsMechanism(NoisyVotes::Create(VotesOf(spec, classes), std::move(key)));
  }
  if (spec.reading == Reading::sound) return std::unique_ptr<Mechanism>(new Noiseless(classes, spec.batch));
  return AsMechanism(GaussianGradient::Create(GradientsOf(spec, classes), std::move(key), kernels));
}

}  // namespace retort::worker::release
