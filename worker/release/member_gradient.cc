#include "worker/release/member_gradient.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include <string>
#include <utility>

namespace retort::worker::release {

MemberGradient::MemberGradient(const MemberGradientSettings& settings, const Lattice& lattice, noise::NoiseKey key,
                               noise::NoiseKernels* kernels)
    : settings_(settings), lattice_(lattice), key_(std::move(key)), kernels_(kernels != nullptr ? kernels : &host_) {}

Result<std::unique_ptr<MemberGradient>> MemberGradient::Create(const MemberGradientSettings& settings,
                                                               noise::NoiseKey key, noise::NoiseKernels* kernels) {
  const GradientRule& rule = settings.rule;
  if (!(rule.norm_bound > 0) || !(settings.sigma > 0) || !(rule.floor >= 0) || !(rule.temperature > 0) ||
      settings.batch < 1 || settings.classes < 2 || settings.members < 1) {
    return UsageError("norm_bound, sigma, temperature and batch must be positive, normalization_floor not negative.");
  }
  if (rule.top_k < 0 || rule.top_k > settings.classes)
    return UsageError("top_k must lie between 0 (all) and the number of classes.");
  if (rule.mask_over == MaskOver::batch && rule.normalization != Normalization::frobenius)
    return UsageError("A mask over the batch needs the norm of the batch: normalization must be \"frobenius\".");
  RETORT_ASSIGN_OR_RETURN(const Lattice lattice, Lattice::For(rule.norm_bound, settings.sigma * rule.norm_bound));
  return std::unique_ptr<MemberGradient>(new MemberGradient(settings, lattice, std::move(key), kernels));
}

privacy::PrivacyEvent MemberGradient::Describe(std::int64_t rows) const {
  privacy::PrivacyEvent event;
  event.kind = privacy::MechanismKind::member_gradient;
  event.unit = privacy::EventUnit::row;
  event.count = rows;
  event.sensitivity = 2 * settings_.rule.norm_bound;
  event.noise_std = settings_.sigma * settings_.rule.norm_bound;
  event.granularity = lattice_.step;
  event.rows_per_batch = settings_.batch;
  event.noise_coordinates = settings_.classes;
  event.release_coordinates = settings_.classes;
  event.source = key_.seeded() ? privacy::NoiseSource::seeded : privacy::NoiseSource::secure_lattice;
  event.assumptions = {std::string(privacy::kAssumeDisjointShards)};
  if (settings_.trusted_server) event.assumptions.emplace_back(privacy::kAssumeTrustedServer);
  return event;
}

// As `like`, in steps: the noise of each row's sum.
Result<at::Tensor> MemberGradient::Noise(std::int64_t step, const at::Tensor& like) {
  const std::int64_t draws = settings_.each_draws ? settings_.members : 1;
  at::Tensor noise = at::empty({draws, like.size(0), like.size(1)}, like.options());
  const noise::StreamId stream{static_cast<std::uint64_t>(step), noise::Purpose::gradient};
  RETORT_RETURN_IF_ERROR(kernels_->FillLatticeNormal(key_, stream, lattice_.scale, noise));
  return noise.sum(0);
}

Result<Released> MemberGradient::Release(const Answers& answers, Charge&& charge) {
  const Charge spent = std::move(charge);
  RETORT_RETURN_IF_ERROR(spent.Covers(Describe(answers.rows())));
  const Query& query = answers.query_;
  if (!answers.gradients_.defined()) return Refused("Noise on members' gradients needs an ensemble's gradients.");
  if (query.gradients != MemberRule{settings_.rule, settings_.sigma})
    return Refused("The members answered by another rule than the event rests on.");
  if (answers.rows() > settings_.batch || answers.gradients_.size(1) != settings_.classes)
    return Refused("The release has other rows or classes than its event speaks of.");
  if (query.step <= last_step_) return Refused("Step " + std::to_string(query.step) + " drew its noise before.");
  last_step_ = query.step;
  RETORT_ASSIGN_OR_RETURN(const at::Tensor noise, Noise(query.step, answers.gradients_));
  return Released{lattice_.ToFloat((answers.gradients_ + noise) / static_cast<double>(settings_.members))};
}

}  // namespace retort::worker::release
