#include "worker/release/validation_count.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/full.h>
#include <ATen/ops/nan_to_num.h>

#include <limits>
#include <span>
#include <string>
#include <utility>

namespace retort::worker::release {

void ValidationCount::Add(const at::Tensor& logits, const at::Tensor& labels) {
  RETORT_CHECK(logits.dim() == 2 && labels.dim() == 1 && labels.size(0) == logits.size(0));
  const at::NoGradGuard no_grad;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const at::Tensor all = logits.detach().cpu(), classes = labels.cpu().unsqueeze(1);
  const at::Tensor chosen = all.nan_to_num(-kInfinity, kInfinity, -kInfinity).argmax(1, true);
  const at::Tensor known = all.gather(1, classes).isnan().logical_not();
  right_ += chosen.eq(classes).logical_and(known).sum().item<std::int64_t>();
}

ValidationScore::ValidationScore(noise::LatticeGaussian lattice, noise::NoiseKey key)
    : lattice_(std::move(lattice)), key_(std::move(key)) {}

Result<ValidationScore> ValidationScore::Create(const TrialSpec& spec, noise::NoiseKey key) {
  RETORT_ASSIGN_OR_RETURN(noise::LatticeGaussian lattice, noise::LatticeGaussian::Create(spec.score_noise));
  return ValidationScore(std::move(lattice), std::move(key));
}

privacy::PrivacyEvent ValidationScore::Describe() const {
  privacy::PrivacyEvent event;
  event.kind = privacy::MechanismKind::validation_count;
  event.unit = privacy::EventUnit::batch;
  event.count = 1;
  event.sensitivity = 1;
  event.noise_std = lattice_.scale();
  event.noise_coordinates = event.release_coordinates = 1;
  event.source = key_.seeded() ? privacy::NoiseSource::seeded : privacy::NoiseSource::secure_lattice;
  event.assumptions = {std::string(privacy::kAssumeValidationApart)};
  return event;
}

Result<at::Tensor> ValidationScore::Release(ValidationCount&& count, Charge&& charge) {
  const Charge spent = std::move(charge);
  const ValidationCount sealed = std::move(count);
  RETORT_RETURN_IF_ERROR(spent.Covers(Describe()));
  if (drawn_) return Refused("The noise of this score was drawn before.");
  drawn_ = true;
  std::int32_t noise = 0;
  noise::ChaChaStream bits(key_, {0, noise::Purpose::validation});
  lattice_.Sample(bits, std::span(&noise, 1));
  return at::full({1}, sealed.right_ + noise, at::kLong);
}

}  // namespace retort::worker::release
