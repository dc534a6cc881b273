#include "worker/release/mechanism.h"

#include <utility>

#include "experiments/methods/methods.h"
#include "worker/release/gaussian_gradient.h"
#include "worker/release/member_gradient.h"
#include "worker/release/noisy_votes.h"
#include "worker/release/randomized_response.h"

namespace retort::worker::release {

privacy::PrivacyEvent Noiseless::Describe(std::int64_t rows) const {
  privacy::PrivacyEvent event;
  event.kind = privacy::MechanismKind::none;
  event.unit = privacy::EventUnit::row;
  event.count = rows;
  event.rows_per_batch = batch_;
  event.release_coordinates = classes_;
  return event;
}

Result<Released> Noiseless::Release(const Answers& answers, Charge&& charge) {
  const Charge spent = std::move(charge);
  RETORT_RETURN_IF_ERROR(spent.Covers(Describe(answers.rows())));
  return Released{answers.logits_.defined() ? answers.logits_.detach() : answers.votes_};
}

namespace {

template <typename M>
Result<std::unique_ptr<Mechanism>> AsMechanism(Result<std::unique_ptr<M>> made) {
  if (!made.ok()) return made.status();
  return std::unique_ptr<Mechanism>(std::move(made).value());
}

GradientSettings MakeGradientSettings(const TrialSpec& spec, std::int64_t classes) {
  GradientSettings settings;
  static_cast<GradientRule&>(settings) = MakeGradientRule(spec);
  settings.reading = spec.reading;
  settings.sigma = spec.release.sigma;
  settings.batch = spec.batch;
  settings.classes = classes;
  settings.detach = spec.release.detach;
  settings.noise_by_row = AddsUpRowNoise(spec);
  settings.teacher_drives_generator = spec.generator.discriminator == Discriminator::teacher;
  return settings;
}

// The clients of FedDPSD add noise themselves, or trust a server that adds it; an ensemble that one party holds draws
// once.
MemberGradientSettings MakeMemberSettings(const TrialSpec& spec, std::int64_t classes, std::int64_t members) {
  MemberGradientSettings settings;
  settings.rule = MakeGradientRule(spec);
  settings.sigma = spec.release.sigma;
  settings.batch = spec.batch;
  settings.classes = classes;
  settings.members = members;
  const bool federated = HasBranches(spec);
  settings.each_draws = federated && spec.release.trust == Trust::untrusted;
  settings.trusted_server = federated && spec.release.trust == Trust::trusted;
  return settings;
}

}  // namespace

noise::NoiseKey MakeNoiseKey(const TrialSpec& spec) {
  if (spec.noise == NoiseMode::seeded) return noise::NoiseKey::FromSeed(spec.seed, spec.id);
  return noise::NoiseKey::FromOperatingSystem();
}

Result<at::Tensor> Mechanism::MakeGraph(const Answers&) const {
  return Refused("Releases of this mechanism have no graph.");
}

Result<std::unique_ptr<Mechanism>> MakeMechanism(const TrialSpec& spec, std::int64_t classes, std::int64_t members,
                                                 noise::NoiseKey key, noise::NoiseKernels* kernels) {
  const MethodTraits* method = FindMethod(spec.method);
  if (method == nullptr || method->teachers == 0) return UsageError("Method \"" + spec.method + "\" asks no teacher.");
  const TrialKind kind = FindKind(spec);
  if (Releases(kind, ReleaseKind::responses))
    return AsMechanism(RandomizedResponse::Create(MakeResponseSettings(spec, classes, members), std::move(key)));
  if (members > 1) {
    if (Releases(kind, ReleaseKind::gradients))
      return AsMechanism(MemberGradient::Create(MakeMemberSettings(spec, classes, members), std::move(key), kernels));
    return AsMechanism(NoisyVotes::Create(MakeVoteSettings(spec, classes), std::move(key)));
  }
  if (spec.reading == Reading::sound) return std::unique_ptr<Mechanism>(new Noiseless(classes, spec.batch));
  return AsMechanism(GaussianGradient::Create(MakeGradientSettings(spec, classes), std::move(key), kernels));
}

}  // namespace retort::worker::release
